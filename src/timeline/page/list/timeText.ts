const clock = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hour12: false,
});
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** A time of day, as the reader writes it; nothing for an unknown one. */
export function timeText(at: number | undefined): string {
  return at === undefined ? "" : clock.format(at);
}

/** A date with its time. */
export function dateText(at: number | undefined): string {
  return at === undefined ? "unknown time" : whole.format(at);
}
