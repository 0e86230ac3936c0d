import { z } from "zod";
import { redactedPath } from "../redactedPath.ts";

/** The schema of a dotted path to redacted values. */
export const redactedPathSchema: z.ZodType<string> = z.string().refine((text) => redactedPath(text) !== undefined, {
  error: 'expected keys with dots between them, such as "signUp.input.email"',
});
