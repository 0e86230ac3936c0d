import { jsonText } from "./visibleText.ts";

const longest = 2_000;

/** Formats a value on one line: text, or JSON. A longer value is cut and followed by its length. */
export function shortValue(value: unknown, most: number = longest): string {
  const text = typeof value === "string" ? value : value === undefined ? "–" : textOf(value);
  if (text.length <= most) return text;
  return `${text.slice(0, most)}… (${text.length.toLocaleString("en")} characters)`;
}

function textOf(value: unknown): string {
  try {
    return jsonText(value);
  } catch (error) {
    return `(cannot be shown: ${(error as Error).message})`;
  }
}

const byteUnits = ["bytes", "KB", "MB", "GB", "TB"] as const;

/** Formats a number of bytes, such as "1.2 MB". */
export function bytesText(bytes: number): string {
  const power = Math.min(byteUnits.length - 1, Math.max(0, Math.floor(Math.log(Math.max(1, bytes)) / Math.log(1_000))));
  const size = bytes / 1_000 ** power;
  return `${power === 0 ? size : size.toFixed(1)} ${byteUnits[power]}`;
}

/** Formats a count with a singular noun, such as `1 run` or `2 runs`. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

const timeUnits = [
  ["days", 86_400_000],
  ["hr.", 3_600_000],
  ["min.", 60_000],
  ["sec.", 1_000],
] as const;
/** The maximum distance from now of a time that is not shown as a date, in milliseconds. */
const recentMs = 30 * 86_400_000;

/**
 * Formats a time such as "5 min. ago", or a distant time as a date. The creation of an `Intl.RelativeTimeFormat` takes
 * longer than most commands run.
 */
export function relativeTime(time: string, now: number): string {
  const at = Date.parse(time);
  if (Number.isNaN(at)) return time;
  const ms = at - now;
  if (Math.abs(ms) > recentMs) return new Date(at).toISOString().slice(0, 10);
  const [unit, size] = timeUnits.find(([, each]) => Math.abs(ms) >= each) ?? ["sec.", 1_000];
  return said(Math.trunc(ms / size), unit);
}

function said(count: number, unit: string): string {
  if (count === 0) return "now";
  if (unit === "days" && Math.abs(count) === 1) return count < 0 ? "yesterday" : "tomorrow";
  return count < 0 ? `${-count} ${unit} ago` : `in ${count} ${unit}`;
}
