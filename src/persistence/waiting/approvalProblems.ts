import type { GivenApproval } from "../../approvals/ApprovalVerifier.ts";
import type { InputProblem } from "../../errors/agentErrors.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";

/** Returns why an answer does not approve a call. `undefined` if it does, or if it is a rejection, which always counts. */
export async function approvalProblems(
  { approvals }: PersistenceSetup,
  given: Omit<GivenApproval, "answer"> & { readonly answer: unknown },
): Promise<readonly InputProblem[] | undefined> {
  const { approved } = Object(given.answer) as { readonly approved?: unknown };
  if (!approvals || !approved || (await approvals.verify(given as GivenApproval))) return undefined;
  return [{ path: "signature", expected: "a valid signature of this approval" }];
}
