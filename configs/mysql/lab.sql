-- The lab makes databases of its own, for an experiment each, and drops them.
GRANT ALL ON `seckill\_lab\_%`.* TO 'seckill'@'%';
