import type { AgentRequest, PersistenceStorageProvider } from "../../index.ts";
import { inspect } from "../../inspect.ts";
import { type AgentOptions, storedAgents } from "../session/storedAgents.ts";
import { CommandFailure, onlyOf, jsonGiven } from "../terminal/CommandFailure.ts";
import { shortened } from "../ids/findLog.ts";
import type { Session } from "../session/Session.ts";
import { painted } from "../terminal/painted.ts";
import { shortValue } from "../terminal/shortTexts.ts";

export interface AnswerCommandOptions extends AgentOptions {
  readonly approve?: boolean | undefined;
  readonly reject?: string | undefined;
  readonly by?: string | undefined;
}

/** `answer [request] [answer]`: answers an open request, or lists the open requests. */
export async function answer(
  session: Session,
  options: AnswerCommandOptions,
  given?: string,
  text?: string,
): Promise<void> {
  const { output } = session;
  const feature = await storedAgents(session, options, given === undefined ? "read" : "write");
  const open: AgentRequest[] = [];
  for await (const request of feature.listRequests()) open.push(request);
  if (given === undefined) {
    if (repliesIn(options, text).length > 0)
      throw new CommandFailure("usage", "Name the request to answer. `answer` lists the open requests.");
    return list(session, open, feature.storage);
  }
  const requestId = await shortened(
    "open request",
    given,
    open.map((each) => each.requestId),
  );
  const request = open.find((each) => each.requestId === requestId);
  if (!request) throw new CommandFailure("notFound", `There is no open request "${given}".`);
  const choices = "Pass an answer as JSON, --approve, or --reject <reason>.";
  const reply = onlyOf(repliesIn(options, text), choices);
  await session.confirm(
    [painted("bold", request.agentId), ` asks: ${asked(request)}`],
    ["rejected" in reply ? `It will be rejected: ${reply.rejected}` : `The answer: ${shortValue(reply.answer, 300)}`],
  );
  const { by } = options;
  if ("rejected" in reply) await feature.reject(requestId, reply.rejected, { by });
  else await feature.answer(requestId, reply.answer, { by, ...("digest" in request && { digest: request.digest }) });
  const said = "Answered. The agent continues when you resume it, or when a worker takes it.";
  await output.result({ agentId: request.agentId, requestId, ...reply }, said);
}

type Reply = { readonly answer: unknown } | { readonly rejected: string };

function repliesIn({ approve, reject }: AnswerCommandOptions, text: string | undefined): readonly Reply[] {
  return [
    ...(text === undefined ? [] : [{ answer: jsonGiven(text, "The answer") }]),
    ...(approve ? [{ answer: { approved: true } }] : []),
    ...(reject === undefined ? [] : [{ rejected: reject }]),
  ];
}

async function list(
  { output }: Session,
  open: readonly AgentRequest[],
  storage: PersistenceStorageProvider,
): Promise<void> {
  if (output.json) return output.document(open);
  for await (const { agentId } of inspect(storage).agents({ status: "unreadable" }))
    await output.note(
      painted("yellow", `${agentId} cannot be read, so it may have open requests. To see why, use verify.`),
    );
  if (open.length === 0) return output.note("No agent has open requests.");
  const rows = open.map((each) => [
    each.requestId,
    each.agentId,
    each.waitingFor,
    output.ago(each.askedAt),
    asked(each),
    expected(each),
  ]);
  await output.table(["REQUEST", "AGENT", "WAITS FOR", "ASKED", "WHAT", "EXPECTS"], rows);
}

function asked(request: AgentRequest): string {
  if (request.kind !== "approval") return shortValue(request.prompt, 500);
  return `${request.prompt} (${request.toolName} ${shortValue(request.input, 300)})`;
}

/** Describes the expected answer by its JSON Schema. */
function expected(request: AgentRequest): string {
  if (request.kind === "approval") return "--approve or --reject";
  if (request.kind === "timer" || request.kind === "event") return "no answer";
  const { $schema: _version, ...schema } = Object(request.schema) as Readonly<Record<string, unknown>>;
  return Object.keys(schema).length === 0 ? "" : shortValue(schema, 200);
}
