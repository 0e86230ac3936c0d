import { z } from "zod";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import type { UsageView } from "../../inspect/view/viewParts.ts";
import { functionSchema } from "../../internal/options/optionSchemas.ts";
import { redactedPathSchema, redactedPath } from "../../internal/options/redactedPath.ts";
import { type HiddenValues, Redaction } from "./Redaction.ts";

const amount = z.number().nonnegative();
const price = strictOptions(() => ({ input: amount, output: amount, cachedInput: amount.optional() }));

export const tokenPricesSchema = strictOptions(() => ({
  currency: z
    .string()
    .regex(/^[A-Z]{3}$/, { error: 'expected the code of a currency, such as "USD"' })
    .optional(),
  models: z.record(z.string(), price),
}));

export interface TimelineOptions {
  /**
   * Paths of values to hide, including all nested values, in dotted form. A path matches at any depth, `*` matches one
   * key, and `\.` is a dot in a key. The values of a tool call are at `<tool>.input` and `<tool>.output`, and storage
   * values at `storage.<key>`. Examples: `signUp.input.email`, `user.*`. If paths are given, raw records are omitted.
   * Defaults to no paths.
   */
  readonly redact?: readonly string[] | undefined;
  /** `hide` hides values that look like secrets by name or form. `show` shows them. Defaults to `hide`. */
  readonly secrets?: "hide" | "show" | undefined;
  /** The maximum number of steps, counted from the newest. Defaults to all steps. */
  readonly last?: number | undefined;
  /** Token prices. The page then shows the cost of each step and the total. Defaults to no costs. */
  readonly prices?: TokenPrices | undefined;
  /** Called with a summary of the hidden values when the page is complete. */
  readonly onHidden?: ((hidden: HiddenValues) => void) | undefined;
}

export const timelineOptionShape = {
  redact: z.array(redactedPathSchema).readonly().optional(),
  secrets: z.enum(["hide", "show"]).optional(),
  last: z.int().positive().optional(),
  prices: tokenPricesSchema.optional(),
  onHidden: functionSchema().optional(),
};

const timelineSchema = strictOptions(() => timelineOptionShape);
const comparisonSchema = strictOptions(() => {
  const { last: _last, ...shape } = timelineOptionShape;
  return shape;
});

/** @throws InvalidInputError for an unknown option or an invalid value */
export function checkTimelineOptions(options: TimelineOptions, page: "timeline" | "comparison"): TimelineOptions {
  const schema = page === "timeline" ? timelineSchema : comparisonSchema;
  return checkSchema(schema, options, `options of a ${page}`) as TimelineOptions;
}

/** Creates the redaction of one page. It counts the hidden values, so each page needs a new one. */
export function redactionOf({ redact = [], secrets = "hide" }: TimelineOptions): Redaction {
  return new Redaction(
    redact.map((text) => redactedPath(text) ?? []),
    secrets === "hide",
  );
}

/** Token prices of models. The package contains no prices, so enter the prices that you pay. */
export interface TokenPrices {
  /** The currency code, such as `EUR`. Defaults to `USD`. */
  readonly currency?: string | undefined;
  /** Prices by the model name in the agent's settings. `"*"` applies to every other model. */
  readonly models: Readonly<Record<string, TokenPrice>>;
}

/** The prices of a million tokens. */
export interface TokenPrice {
  readonly input: number;
  readonly output: number;
  /** The price of input tokens that the provider reads from its cache. Defaults to `input`. */
  readonly cachedInput?: number | undefined;
}

/** The cost of model requests. */
export interface RunCost {
  readonly amount: number;
  readonly currency: string;
  /** The number of requests without a price or without token counts. */
  readonly unpriced: number;
}

interface PricedRequest {
  readonly model?: string | undefined;
  readonly usage?: UsageView | undefined;
}

export function costOf(requests: readonly PricedRequest[], prices: TokenPrices): RunCost {
  const costs = requests.flatMap((request) => costOfRequest(request, prices) ?? []);
  const amount = costs.reduce((sum, cost) => sum + cost, 0);
  return { amount, currency: prices.currency ?? "USD", unpriced: requests.length - costs.length };
}

/** Returns `undefined` if the model has no price, or if token counts are missing. */
function costOfRequest({ model, usage }: PricedRequest, { models }: TokenPrices): number | undefined {
  const named = model !== undefined && Object.hasOwn(models, model) ? models[model] : undefined;
  const found = named ?? (Object.hasOwn(models, "*") ? models["*"] : undefined);
  const { inputTokens, outputTokens, cachedInputTokens = 0 } = usage ?? {};
  if (found === undefined || inputTokens === undefined || outputTokens === undefined) return undefined;
  const { input, output, cachedInput = input } = found;
  const cached = Math.min(cachedInputTokens, inputTokens);
  return ((inputTokens - cached) * input + cached * cachedInput + outputTokens * output) / 1e6;
}

/** Returns the tokens of model requests. `undefined` if the provider reported no tokens. */
export function tokensOf(requests: readonly PricedRequest[]): number | undefined {
  const counts = requests.flatMap(({ usage }) => usage?.totalTokens ?? []);
  return counts.length === 0 ? undefined : counts.reduce((sum, count) => sum + count, 0);
}
