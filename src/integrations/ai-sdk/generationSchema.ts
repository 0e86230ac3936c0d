import { z } from "zod";

const text = z.looseObject({ type: z.enum(["text", "reasoning"]), text: z.string() });
const call = z.looseObject({
  type: z.literal("tool-call"),
  toolCallId: z.string(),
  toolName: z.string(),
  input: z.string(),
});
const checked: ReadonlySet<string> = new Set(["text", "reasoning", "tool-call"]);
const other = z.looseObject({ type: z.string().refine((type) => !checked.has(type)) });

/** The response fields that this library reads, in every specification version. */
export const generationSchema: z.ZodType = z.looseObject({
  content: z.array(z.union([text, call, other])),
  finishReason: z.union([z.string(), z.looseObject({ unified: z.string() })]),
});
