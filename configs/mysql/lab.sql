-- The lab creates one database per experiment, and drops it afterwards.
GRANT ALL ON `seckill\_lab\_%`.* TO 'seckill'@'%';
