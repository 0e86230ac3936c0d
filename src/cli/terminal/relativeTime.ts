const units = [
  ["days", 86_400_000],
  ["hr.", 3_600_000],
  ["min.", 60_000],
  ["sec.", 1_000],
] as const;
/** The age from which a date is shown instead. */
const recentMs = 30 * 86_400_000;

/**
 * Formats a time such as "5 min. ago", or as a date if it is far away. Matches `Intl.RelativeTimeFormat`, which takes
 * longer to create than most commands run.
 *
 * @param time ISO 8601
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
