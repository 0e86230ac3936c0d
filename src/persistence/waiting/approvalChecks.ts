import type { InputRequestEvent } from "../../agent/feature/PipelineEvents.ts";
import type { PendingRequest } from "../../agent/feature/RunResult.ts";
import type { ApprovalVerifier, CheckedApproval } from "../../signedApprovals/signedApprovals.ts";
import { InvalidInputError, type InputProblem } from "../../errors/agentErrors.ts";
import type { RunRecorder } from "../saving/RunRecorder.ts";
import type { Reply } from "../replay/RecordedAnswers.ts";
import { answerSubject } from "./askedRecords.ts";

type Given = Omit<CheckedApproval, "answer"> & { readonly answer: unknown };

/** @throws InvalidInputError if an answer approves a call and the verifier rejects the approval. */
export async function assertCounts(
  verifier: ApprovalVerifier,
  agentId: string,
  request: PendingRequest,
  { answer, by }: { readonly answer: unknown; readonly by?: string | undefined },
): Promise<void> {
  if (request.kind !== "approval") return;
  const { requestId, askedAt, digest } = request;
  const problems = await problemsOf(verifier, { agentId, requestId, askedAt, digest, by, answer });
  if (problems) throw new InvalidInputError(answerSubject(requestId), problems);
}

/** Returns why a recorded answer is no valid approval. Anyone who can write to the log can write an answer. */
export async function recordedProblems(
  verifier: ApprovalVerifier,
  { journal: { agentId }, replies }: RunRecorder,
  event: InputRequestEvent,
  reply: Reply | undefined,
): Promise<readonly InputProblem[] | undefined> {
  if (!reply || !("answer" in reply)) return undefined;
  const { requestId, answer, by } = reply;
  const askedAt = new Date(replies?.askedBefore(event)?.at ?? 0).toISOString();
  return problemsOf(verifier, { agentId, requestId, askedAt, digest: event.question, by, answer });
}

/** A rejection is always valid, because it starts no call. */
async function problemsOf(verifier: ApprovalVerifier, given: Given): Promise<readonly InputProblem[] | undefined> {
  const { approved } = Object(given.answer) as { readonly approved?: unknown };
  if (!approved || (await verifier.verify(given as CheckedApproval))) return undefined;
  return [{ path: "signature", expected: "a signature of this approval that the option approvals accepts" }];
}
