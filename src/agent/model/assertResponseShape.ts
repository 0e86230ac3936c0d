import type { z } from "zod";
import { summaryOf } from "../../errors/agentErrors.ts";
import { UnusableModelAnswerError } from "../../errors/modelErrors.ts";
import { problemsOf } from "../../internal/options/checkSchema.ts";

/** Checks a response of an adapter against a schema. @throws UnusableModelAnswerError */
export function assertResponseShape(schema: z.ZodType, response: unknown, model: string, provider?: string): void {
  const checked = schema.safeParse(response);
  if (checked.success) return;
  const problem = summaryOf(problemsOf(checked.error));
  throw new UnusableModelAnswerError("model_answer_malformed", model, provider, problem);
}
