# The program alone, in an image without a shell, run by a user without rights.
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o /seckill ./cmd/seckill

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /seckill /seckill
EXPOSE 8080 6060
ENTRYPOINT ["/seckill"]
CMD ["serve"]
