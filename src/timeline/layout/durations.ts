import type { TimelineStep } from "../data/TimelineData.ts";
import type { RunCost } from "../options/TimelineOptions.ts";

const clock = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hour12: false,
});
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

const units: readonly (readonly [milliseconds: number, name: string])[] = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1_000, "s"],
];

/** Formats a duration in its two largest units, such as `2 h 14 min`. */
export function durationText(milliseconds: number): string {
  if (milliseconds < 1_000) return `${Math.max(0, Math.round(milliseconds))} ms`;
  const index = units.findIndex(([length]) => milliseconds >= length);
  const [length, name] = units[index] ?? [1_000, "s"];
  const [smaller, smallerName] = units[index + 1] ?? [0, ""];
  const whole = Math.floor(milliseconds / length);
  const rest = smaller === 0 ? 0 : Math.floor((milliseconds % length) / smaller);
  return rest === 0 ? `${whole} ${name}` : `${whole} ${name} ${rest} ${smallerName}`;
}

/** Formats a number briefly, such as `12.3K`. */
export function shortCount(count: number): string {
  return count < 1_000 ? String(count) : short.format(count);
}

const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** Formats an amount of money. Small amounts keep two significant digits. */
export function moneyText({ amount, currency }: Pick<RunCost, "amount" | "currency">): string {
  const digits = amount > 0 && amount < 0.1 ? { maximumSignificantDigits: 2 } : {};
  return new Intl.NumberFormat("en", { style: "currency", currency, ...digits }).format(amount);
}

/** Formats a cost, and counts the model requests without a price. */
export function costText(cost: RunCost): string {
  const { amount, unpriced } = cost;
  if (unpriced === 0) return moneyText(cost);
  return [amount > 0 && moneyText(cost), `no price for ${unpriced} answer${unpriced === 1 ? "" : "s"}`]
    .filter(Boolean)
    .join(", ");
}

export function spentTexts({ tokens, cost, took }: Pick<TimelineStep, "tokens" | "cost" | "took">): readonly string[] {
  return [
    tokens === undefined ? "" : `${shortCount(tokens)} tokens`,
    cost === undefined || cost.amount === 0 ? "" : moneyText(cost),
    took === undefined || took === 0 ? "" : durationText(took),
  ].filter((text) => text !== "");
}

export function sizeText(characters: number): string {
  if (characters < 10_000) return `${characters.toLocaleString("en")} characters`;
  return characters < 1_000_000
    ? `${Math.round(characters / 1_000)} K characters`
    : `${(characters / 1e6).toFixed(1)} M characters`;
}

/** Formats a time of day for the reader's locale. Empty if unknown. */
export function timeText(at: number | undefined): string {
  return at === undefined ? "" : clock.format(at);
}

export function dateText(at: number | undefined): string {
  return at === undefined ? "unknown time" : whole.format(at);
}
