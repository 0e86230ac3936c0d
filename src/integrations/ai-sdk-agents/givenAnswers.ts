import { RequestNotOpenError } from "../../errors/requestErrors.ts";
import { assertDecided } from "../hosted/assertDecided.ts";
import type { HostedAgents } from "../hosted/HostedAgents.ts";
import { approvalsGiven, type CallInput, promptMessages } from "./runLegs.ts";

export interface GivenAnswers {
  /** The library's ids of the calls. */
  readonly ids: readonly string[];
  /** The answers by request. Omitted if all approvals are recorded. */
  readonly answers?: Readonly<Record<string, unknown>>;
}

/**
 * Returns the approvals in a client's messages, and the answers for those whose requests are open. The other
 * approvals must be recorded, so that a client may send its messages again. `undefined` without approvals.
 *
 * @throws RequestNotOpenError if an approval has no request, or differs from the recorded decision
 */
export async function givenAnswers(
  hosted: HostedAgents,
  agentId: string,
  input: CallInput,
): Promise<GivenAnswers | undefined> {
  const given = approvalsGiven(promptMessages(input));
  if (given.length === 0) return undefined;
  const requests = await hosted.agent(agentId).getRequests();
  const records = await hosted.records(agentId);
  const openIds = requests.map(({ requestId }) => requestId);
  const answers: Record<string, unknown> = {};
  for (const { toolCallId, approved, reason } of given) {
    const open = requests.find((each) => each.kind === "approval" && each.toolCallId === toolCallId);
    const request = records.exists ? records.request(toolCallId)?.record : undefined;
    if (open) answers[open.requestId] = approved || reason === undefined ? { approved } : { approved, reason };
    else if (request) assertDecided(request, approved, records, openIds);
    else throw new RequestNotOpenError("request_not_found", agentId, toolCallId, undefined, openIds);
  }
  return { ids: given.map(({ toolCallId }) => toolCallId), ...(Object.keys(answers).length > 0 && { answers }) };
}

export function answersOf({ answers }: GivenAnswers): Pick<GivenAnswers, "answers"> {
  return answers ? { answers } : {};
}
