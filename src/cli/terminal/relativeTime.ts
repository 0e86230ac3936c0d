const units = [
  ["days", 86_400_000],
  ["hr.", 3_600_000],
  ["min.", 60_000],
  ["sec.", 1_000],
] as const;
/** Longer ago than this, a date says more. */
const recentMs = 30 * 86_400_000;

/**
 * A time as a person says it, such as "5 min. ago"; a date where it is long ago or far away. As `Intl.RelativeTimeFormat` says
 * it, which takes longer to be made than most commands work.
 *
 * @param time ISO 8601.
 */
export function relativeTime(time: string, now: number): string {
  const at = Date.parse(time);
  if (Number.isNaN(at)) return time;
  const ms = at - now;
  if (Math.abs(ms) > recentMs) return new Date(at).toISOString().slice(0, 10);
  const [unit, size] = units.find(([, each]) => Math.abs(ms) >= each) ?? ["sec.", 1_000];
  return said(Math.trunc(ms / size), unit);
}

function said(count: number, unit: string): string {
  if (count === 0) return "now";
  if (unit === "days" && Math.abs(count) === 1) return count < 0 ? "yesterday" : "tomorrow";
  return count < 0 ? `${-count} ${unit} ago` : `in ${count} ${unit}`;
}
