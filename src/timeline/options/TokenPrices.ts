import { z } from "zod";
import { strictOptions } from "../../internal/options/strictOptions.ts";

/** Token prices of models. The package contains no prices, so enter the prices that you pay. */
export interface TokenPrices {
  /** The currency code, such as `EUR`. Defaults to `USD`. */
  readonly currency?: string | undefined;
  /** By the model name in the agent's settings. `"*"` applies to every other model. */
  readonly models: Readonly<Record<string, TokenPrice>>;
}

/** The prices of a million tokens. */
export interface TokenPrice {
  readonly input: number;
  readonly output: number;
}

const price = strictOptions({ input: z.number().nonnegative(), output: z.number().nonnegative() });

export const tokenPricesSchema = strictOptions({
  currency: z
    .string()
    .regex(/^[A-Z]{3}$/, { error: 'expected the code of a currency, such as "USD"' })
    .optional(),
  models: z.record(z.string(), price),
});

/** Returns the cost of a response, or `undefined` without a price for its model or without token counts. */
export function costOf(
  prices: TokenPrices,
  model: string | undefined,
  usage: { readonly inputTokens?: number; readonly outputTokens?: number } | undefined,
): number | undefined {
  const { models } = prices;
  const named = model !== undefined && Object.hasOwn(models, model) ? models[model] : undefined;
  const found = named ?? (Object.hasOwn(models, "*") ? models["*"] : undefined);
  const { inputTokens, outputTokens } = usage ?? {};
  if (found === undefined || inputTokens === undefined || outputTokens === undefined) return undefined;
  return (inputTokens * found.input + outputTokens * found.output) / 1e6;
}
