# The program alone, in an image with nothing else, run by a user without rights.
FROM golang:1.26.8-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# The folder of git is not in the image's context: docker build --build-arg VERSION=$(git describe --tags --always)
ARG VERSION=devel
RUN CGO_ENABLED=0 go build -trimpath -tags nomsgpack -ldflags="-s -w -X $(go list -m)/internal/app.released=$VERSION" \
    -o /seckill ./cmd/seckill && mkdir /empty

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
# Embedded stores keep their database in a temporary folder.
COPY --from=build --chown=65532:65532 /empty /tmp
COPY --from=build /seckill /seckill
USER 65532:65532
EXPOSE 8080 6060
HEALTHCHECK --interval=5s --timeout=4s --start-period=15s CMD ["/seckill", "health"]
ENTRYPOINT ["/seckill"]
CMD ["serve"]
