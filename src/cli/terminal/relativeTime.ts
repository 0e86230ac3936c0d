const units = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
] as const;
/** Longer ago than this, a date says more. */
const recentMs = 30 * 86_400_000;

/** Made when it is needed: that takes longer than most commands work. */
let words: Intl.RelativeTimeFormat | undefined;

/** A time as a person says it, such as "5 min. ago"; a date where it is long ago or far away. @param time ISO 8601. */
export function relativeTime(time: string, now: number): string {
  const at = Date.parse(time);
  if (Number.isNaN(at)) return time;
  const ms = at - now;
  if (Math.abs(ms) > recentMs) return new Date(at).toISOString().slice(0, 10);
  const [unit, size] = units.find(([, each]) => Math.abs(ms) >= each) ?? ["second", 1_000];
  words ??= new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });
  return words.format(Math.trunc(ms / size), unit);
}
