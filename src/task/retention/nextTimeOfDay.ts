import { Cron } from "croner";

/**
 * When it is next so late, by local time, in milliseconds since 1970. Later than `from`.
 *
 * @param time such as `"03:00"`.
 */
export function nextTimeOfDay(time: string, from: number): number {
  const [hour, minute] = time.split(":");
  const next = new Cron(`0 ${Number(minute)} ${Number(hour)} * * *`).nextRun(new Date(from));
  return next?.getTime() ?? Number.POSITIVE_INFINITY;
}
