import { z } from "zod";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import { functionSchema } from "../../internal/options/optionSchemas.ts";
import type { HiddenValues } from "./HiddenValues.ts";
import { Redaction } from "./Redaction.ts";
import { redactedPath } from "./redactedPath.ts";
import { type TokenPrices, tokenPricesSchema } from "./TokenPrices.ts";

/** What a timeline shows. */
export interface TimelineOptions {
  /**
   * Values to hide with all that is below them, by dotted paths that match at any depth; `*` is any one key, and `\.` a dot in
   * a key. A tool call's values are at `<tool>.input` and `<tool>.output`, those of the storage at `storage.<key>`:
   * `signUp.input.email`, `user.*`. Raw records are then left out. Default: none.
   */
  readonly redact?: readonly string[] | undefined;
  /** `hide`: what looks like a secret is hidden, by its name or its form. `show`: it is not looked for. Default `hide`. */
  readonly secrets?: "hide" | "show" | undefined;
  /** Only the newest so many steps. Default: all. */
  readonly last?: number | undefined;
  /** What tokens cost: the page then shows the cost of each step and of all. Default: no cost is shown. */
  readonly prices?: TokenPrices | undefined;
  /** Told what a page hides, and which paths led to nothing, once the page is complete. Default: nobody is told. */
  readonly onHidden?: ((hidden: HiddenValues) => void) | undefined;
}

const path = z.string().refine((text) => redactedPath(text) !== undefined, {
  error: 'expected keys with dots between them, such as "signUp.input.email"',
});

/** The schemas of the options. */
export const timelineOptionShape = {
  redact: z.array(path).readonly().optional(),
  secrets: z.enum(["hide", "show"]).optional(),
  last: z.int().positive().optional(),
  prices: tokenPricesSchema.optional(),
  onHidden: functionSchema().optional(),
};

const schema = strictOptions(timelineOptionShape);

/** @throws InvalidInputError if an option is none, or has a value that it cannot have. */
export function checkTimelineOptions(options: TimelineOptions): TimelineOptions {
  return checkSchema(schema, options, "options of a timeline") as TimelineOptions;
}

/** What hides values as the options say. It counts, so each page has its own. */
export function redactionOf({ redact = [], secrets = "hide" }: TimelineOptions): Redaction {
  return new Redaction(
    redact.map((text) => redactedPath(text) ?? []),
    secrets === "hide",
  );
}
