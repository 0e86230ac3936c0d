import type { z } from "zod";
import { summaryOf } from "../../errors/agent/InvalidInputError.ts";
import { UnusableModelAnswerError } from "../../errors/model/UnusableModelAnswerError.ts";

/** Refuses an answer that an adapter gave in another shape than its types say. @throws UnusableModelAnswerError */
export function assertShape(schema: z.ZodType, answer: unknown, model: string, provider?: string): void {
  const checked = schema.safeParse(answer);
  if (checked.success) return;
  const problems = checked.error.issues.map(({ path, message: expected }) => ({ path: path.join("."), expected }));
  throw new UnusableModelAnswerError("model_answer_malformed", model, provider, summaryOf(problems));
}
