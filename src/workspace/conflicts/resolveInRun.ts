import { z } from "zod";
import type { AgentContext } from "../../agent/context/AgentContext.ts";
import type { Message } from "../../checkpoint/messages/Message.ts";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { nonEmptyString, objectWithMethods } from "../../internal/options/optionSchemas.ts";
import { persistence } from "../../persistence/Persistence.ts";
import { commitMessagesAbout } from "../git/history.ts";
import type { ConflictResolver, ResolutionOutcome } from "./ConflictResolver.ts";
import { conflictSchema, type ContentConflict } from "./resolutionPrompt.ts";

const callSchema = z.object({
  resolver: objectWithMethods<ConflictResolver>("resolve"),
  conflict: conflictSchema,
  options: strictOptions(() => ({ root: nonEmptyString.optional() })),
});

/**
 * Resolves a conflict in a run and records the result among the agent's decisions. The agent's intent defaults to its
 * task and last decision. The other side's intent defaults to the messages of upstream commits that changed the file.
 *
 * @param options.root the root of the work tree. If omitted, the intent of the other side is unknown.
 * @throws InvalidInputError, GitError, an error of `askPerson`, or the reason of an aborted run
 */
export async function resolveInRun(
  context: AgentContext,
  resolver: ConflictResolver,
  conflict: ContentConflict,
  options: { readonly root?: string | undefined } = {},
): Promise<ResolutionOutcome> {
  checkSchema(callSchema, { resolver, conflict, options }, "conflict to resolve");
  const agentIntent = conflict.agentIntent ?? (await agentIntentOf(context));
  const externalIntent =
    conflict.externalIntent ?? (await externalIntentOf(conflict.path, options.root, context.signal));
  const known = { ...(agentIntent && { agentIntent }), ...(externalIntent && { externalIntent }) };
  const outcome = await resolver.resolve({ ...conflict, ...known }, context.signal);
  const reason = outcome.refused.map(({ step, reason: problem }) => `${step}: ${problem}`).join("; ");
  context.recordDecision({
    decision: `conflict in ${conflict.path}: ${outcome.resolved ? `settled by ${outcome.resolvedBy}` : "not settled"}`,
    ...(reason !== "" && { reason }),
  });
  return outcome;
}

async function agentIntentOf(context: AgentContext): Promise<string> {
  const asked = context.llm.messages.find(({ role }) => role === "user");
  const decided = (await persistence(context).getLatestCheckpoint())?.decisions.at(-1);
  return [asked && textIn(asked), decided?.decision, decided?.reason].filter(Boolean).join("\n");
}

async function externalIntentOf(path: string, root: string | undefined, signal: AbortSignal): Promise<string> {
  return root === undefined ? "" : (await commitMessagesAbout(root, path, signal)).join("\n\n");
}

function textIn({ content }: Message): string {
  if (typeof content === "string") return content;
  return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}
