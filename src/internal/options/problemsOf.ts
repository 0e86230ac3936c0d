import type { z } from "zod";
import type { InputProblem } from "../../errors/agentErrors.ts";

export function problemsOf(error: z.core.$ZodError): readonly InputProblem[] {
  return error.issues.map(({ path, message }) => ({
    path: path.map(String).join("."),
    expected: message.replace(/^Invalid input: /, "").replace("nonoptional, received undefined", "a value"),
  }));
}
