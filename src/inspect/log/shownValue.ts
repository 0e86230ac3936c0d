import type { ShownValue } from "../view/viewParts.ts";

/** Omits deeper levels, because callers may process a value recursively. */
const mostLevels = 100;

interface Budget {
  left: number;
  cut: boolean;
}

/** Converts a decoded value to limited JSON without cycles. @param most - the most characters and items. */
export function shownValue(value: unknown, most: number): ShownValue {
  const budget: Budget = { left: most, cut: false };
  const shown = plain(value, budget, 0);
  return budget.cut ? { value: shown, cut: true } : { value: shown };
}

function plain(value: unknown, budget: Budget, level: number): unknown {
  budget.left--;
  if (typeof value === "string") return text(value, budget);
  if (typeof value === "boolean" || value === null) return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
  if (value === undefined) return null;
  if (typeof value !== "object") return text((value as bigint | symbol).toString(), budget);
  if (level >= mostLevels) return left("deeper levels", budget);
  if (Array.isArray(value)) return list(value, budget, level);
  return known(value, budget, level) ?? fields(Object.entries(value), budget, level);
}

function known(value: object, budget: Budget, level: number): unknown {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
  if (ArrayBuffer.isView(value)) return { $bytes: value.byteLength };
  if (value instanceof Map) return list([...(value as Map<unknown, unknown>)], budget, level);
  if (value instanceof Set) return list([...(value as Set<unknown>)], budget, level);
  if (value instanceof Error)
    return fields(Object.entries({ name: value.name, message: value.message }), budget, level);
  if (value instanceof RegExp || value instanceof URL) return text(String(value), budget);
  return undefined;
}

function list(items: readonly unknown[], budget: Budget, level: number): unknown[] {
  const shown: unknown[] = [];
  for (const item of items) {
    if (budget.left <= 0) {
      shown.push(left(`${items.length - shown.length} more items`, budget));
      break;
    }
    shown.push(plain(item, budget, level + 1));
  }
  return shown;
}

function fields(entries: readonly (readonly [string, unknown])[], budget: Budget, level: number): object {
  const shown: [string, unknown][] = [];
  for (const [key, item] of entries) {
    if (budget.left <= 0) {
      shown.push(["…", left(`${entries.length - shown.length} more fields`, budget)]);
      break;
    }
    budget.left -= key.length;
    shown.push([key, plain(item, budget, level + 1)]);
  }
  // Keeps a field named `__proto__` as an ordinary field.
  return Object.fromEntries(shown);
}

function text(value: string, budget: Budget): string {
  const most = Math.max(0, budget.left);
  budget.left -= value.length;
  if (value.length <= most) return value;
  return value.slice(0, most) + left(`${value.length - most} more characters`, budget);
}

function left(what: string, budget: Budget): string {
  budget.cut = true;
  return `… (${what})`;
}
