const clock = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hour12: false,
});
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** Formats a time of day for the reader's locale. Empty if unknown. */
export function timeText(at: number | undefined): string {
  return at === undefined ? "" : clock.format(at);
}

export function dateText(at: number | undefined): string {
  return at === undefined ? "unknown time" : whole.format(at);
}
