/** Token counts with the names of the AI SDK. A count is `undefined` if no provider reported it. */
export interface ModelUsage {
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
  /** Can be more than the sum of input and output tokens. */
  readonly totalTokens?: number | undefined;
  /** Parts of `inputTokens`. */
  readonly inputTokenDetails?:
    | {
        readonly noCacheTokens?: number | undefined;
        readonly cacheReadTokens?: number | undefined;
        readonly cacheWriteTokens?: number | undefined;
      }
    | undefined;
  /** Parts of `outputTokens`. */
  readonly outputTokenDetails?:
    | { readonly textTokens?: number | undefined; readonly reasoningTokens?: number | undefined }
    | undefined;
}

/** Adds two usages from untyped data. Ignores other fields. @returns `undefined` if neither contains a number. */
export function addUsage(one: unknown, other: unknown): ModelUsage | undefined {
  if (one === undefined && other === undefined) return undefined;
  return withNumbers({
    ...sums(one, other, ["inputTokens", "outputTokens", "totalTokens"]),
    inputTokenDetails: withNumbers(
      sums(partOf(one, "inputTokenDetails"), partOf(other, "inputTokenDetails"), [
        "noCacheTokens",
        "cacheReadTokens",
        "cacheWriteTokens",
      ]),
    ),
    outputTokenDetails: withNumbers(
      sums(partOf(one, "outputTokenDetails"), partOf(other, "outputTokenDetails"), ["textTokens", "reasoningTokens"]),
    ),
  });
}

function sums(one: unknown, other: unknown, names: readonly string[]): Readonly<Record<string, number | undefined>> {
  return Object.fromEntries(names.map((name) => [name, sum(partOf(one, name), partOf(other, name))]));
}

function sum(one: unknown, other: unknown): number | undefined {
  if (!isCount(one)) return isCount(other) ? other : undefined;
  return isCount(other) ? one + other : one;
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

function partOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
}

function withNumbers<Fields extends object>(fields: Fields): Partial<Fields> | undefined {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined);
  return present.length === 0 ? undefined : (Object.fromEntries(present) as Partial<Fields>);
}
