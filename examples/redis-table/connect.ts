import { Redis } from "ioredis";
import RedisMock from "ioredis-mock";

/** The server at `REDIS_URL`, or one in the memory of this process. */
export function connect(): Redis {
  const { REDIS_URL: url } = process.env;
  return url === undefined ? new RedisMock() : new Redis(url);
}
