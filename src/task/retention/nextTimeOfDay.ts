import { Cron } from "croner";

/**
 * When it is next so late, by local time, in milliseconds since 1970. Later than `from`.
 *
 * @param time such as `"03:00"`.
 * @throws TypeError when that is no time of a day.
 */
export function nextTimeOfDay(time: string, from: number): number {
  const [, hour, minute] = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(time) ?? [];
  if (hour === undefined || minute === undefined)
    throw new TypeError(`A time of day from "00:00" to "23:59" was expected, found ${JSON.stringify(time)}.`);
  const next = new Cron(`0 ${Number(minute)} ${Number(hour)} * * *`).nextRun(new Date(from));
  return next?.getTime() ?? Number.POSITIVE_INFINITY;
}
