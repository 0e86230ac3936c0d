import { z } from "zod";
import type { PromptExecutor } from "../../agent/model/PromptExecutor.ts";
import { textOf } from "../../agent/model/nodes.ts";
import { abortable } from "../../internal/abortable.ts";
import { assertContext, checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import {
  abortSignalSchema,
  functionSchema,
  nonEmptyString,
  objectWithMethods,
} from "../../internal/options/optionSchemas.ts";
import { reasonOf } from "../../internal/reasonOf.ts";
import type { MergeResult } from "../merge/MergeResult.ts";
import { mergeThreeWay } from "../merge/mergeThreeWay.ts";
import { mergedIn, resolutionPrompt, resultProblem, type ContentConflict, conflictSchema } from "./resolutionPrompt.ts";
import type { AgentContext } from "../../agent/context/AgentContext.ts";
import type { Message } from "../../checkpoint/messages/Message.ts";
import { persistence } from "../../persistence/Persistence.ts";
import { commitMessagesAbout } from "../git/history.ts";

/** The steps that can resolve a conflict, in order. */
export type ResolutionStep = "merge" | "model" | "person";

/** A step that did not resolve the conflict. */
export interface RefusedResolution {
  readonly step: ResolutionStep;
  readonly reason: string;
}

/** The outcome of a conflict and the step that resolved it. */
export type ResolutionOutcome = {
  /** For each attempted step, the reasons why it did not resolve the conflict. */
  readonly refused: readonly RefusedResolution[];
} & (
  | {
      readonly resolved: true;
      readonly resolvedBy: ResolutionStep;
      /** The new content of the file. */
      readonly text: string;
    }
  | {
      readonly resolved: false;
      /** The merge with conflict markers. */
      readonly merged: MergeResult;
      /** A result that passed every check but was not approved by a person. Omitted without such a result. */
      readonly proposal?: ResolutionProposal;
    }
);

/** The clean merge or the text of the model. */
export interface ResolutionProposal {
  readonly by: "merge" | "model";
  readonly text: string;
}

/** The input of `askPerson`. */
export interface ConflictQuestion {
  readonly conflict: ContentConflict;
  /** The merge with conflict markers. */
  readonly merged: MergeResult;
  /** A result that passed every check and still needs approval. Omitted without such a result. */
  readonly proposal?: ResolutionProposal;
  readonly signal: AbortSignal;
}

/** Options of a `ConflictResolver`. */
export interface ConflictResolverOptions {
  /**
   * The results that are applied without a person. `merge` applies clean merges. `model` also applies proposals of the
   * model and requires `model`. `ask` applies no result. Defaults to `merge`.
   */
  readonly automation?: "merge" | "model" | "ask" | undefined;
  /** The model that resolves a conflict if the merge is not clean or fails `check`. Omitted for no model. */
  readonly model?: { readonly promptExecutor: PromptExecutor; readonly name: string } | undefined;
  /** Called last. Returns the content, or `undefined` to leave the conflict unresolved. Omitted for no person. */
  readonly askPerson?:
    | ((question: ConflictQuestion) => PromiseLike<string | undefined> | string | undefined)
    | undefined;
  /** Checks each result, even from a person. Returns the problem, such as a compiler error, or `undefined`. */
  readonly check?:
    | ((text: string, conflict: ContentConflict) => PromiseLike<string | undefined> | string | undefined)
    | undefined;
}

const optionsSchema = strictOptions(() => ({
  automation: z.enum(["merge", "model", "ask"]).optional(),
  model: strictOptions(() => ({
    promptExecutor: objectWithMethods<PromptExecutor>("execute"),
    name: nonEmptyString,
  })).optional(),
  askPerson: functionSchema().optional(),
  check: functionSchema().optional(),
})).refine(({ automation, model }) => automation !== "model" || model !== undefined, {
  path: ["model"],
  error: 'expected a model, because `automation: "model"` applies what a model proposes',
});

const resolveSchema = z.object({ conflict: conflictSchema, signal: abortSignalSchema });

/**
 * Resolves conflicts in steps: a clean merge, then the model, then a person. If the result of a step is rejected, the
 * next step follows. A result is rejected if it contains conflict markers, fails `check`, or is empty although both
 * sides have content. A model result is also rejected if it contains tags of the prompt or a code fence around the
 * file. A failure of the model or of `check` counts as a rejection.
 */
export class ConflictResolver {
  readonly #options: ConflictResolverOptions;

  /** @throws InvalidInputError */
  constructor(options: ConflictResolverOptions = {}) {
    checkSchema(optionsSchema, options, "options of the conflict resolver");
    this.#options = options;
  }

  /**
   * Resolves one conflict.
   *
   * @param signal rejects the call with its reason, even while the model, the person or `check` is still running
   * @throws InvalidInputError, or an error of `askPerson`
   */
  async resolve(
    conflict: ContentConflict,
    signal: AbortSignal = new AbortController().signal,
  ): Promise<ResolutionOutcome> {
    checkSchema(resolveSchema, { conflict, signal }, "conflict to resolve");
    return abortable(signal, () => this.#resolve(conflict, signal));
  }

  async #resolve(conflict: ContentConflict, signal: AbortSignal): Promise<ResolutionOutcome> {
    const { automation = "merge" } = this.#options;
    const refused: RefusedResolution[] = [];
    const merged = await mergeThreeWay(conflict.base, conflict.ours, conflict.theirs, { lineEndings: "merge" });
    const proposal =
      (await this.#tryMerge(merged, conflict, refused)) ?? (await this.#tryModel(conflict, refused, signal));
    signal.throwIfAborted();
    const mayApply = automation === "model" || (automation === "merge" && proposal?.by === "merge");
    if (proposal && mayApply) return { resolved: true, resolvedBy: proposal.by, text: proposal.text, refused };
    const question = { conflict, merged, ...(proposal && { proposal }), signal };
    const text = await this.#askPerson(question, refused);
    if (text === undefined) return { resolved: false, merged, ...(proposal && { proposal }), refused };
    return { resolved: true, resolvedBy: "person", text, refused };
  }

  async #tryMerge(
    merged: MergeResult,
    conflict: ContentConflict,
    refused: RefusedResolution[],
  ): Promise<ResolutionProposal | undefined> {
    const problem = merged.clean ? await this.#problem(merged.text, conflict) : "both sides changed the same lines";
    if (problem === undefined) return { by: "merge", text: merged.text };
    refused.push({ step: "merge", reason: problem });
    return undefined;
  }

  async #tryModel(
    conflict: ContentConflict,
    refused: RefusedResolution[],
    signal: AbortSignal,
  ): Promise<ResolutionProposal | undefined> {
    if (this.#options.model === undefined) return undefined;
    const { promptExecutor, name } = this.#options.model;
    const messages = resolutionPrompt(conflict);
    const execute = async () => promptExecutor.execute({ messages, tools: [], model: name, abortSignal: signal });
    const answer = await execute()
      .then(({ message }) => mergedIn(textOf(message), conflict))
      .catch((error: unknown) => ({ problem: `the model failed: ${reasonOf(error)}` }));
    const problem = "problem" in answer ? answer.problem : await this.#problem(answer.text, conflict);
    if ("text" in answer && problem === undefined) return { by: "model", text: answer.text };
    refused.push({ step: "model", reason: problem ?? "it returned no file" });
    return undefined;
  }

  async #askPerson(question: ConflictQuestion, refused: RefusedResolution[]): Promise<string | undefined> {
    if (this.#options.askPerson === undefined) return undefined;
    const text = await this.#options.askPerson(question);
    const problem = text === undefined ? "left unresolved" : await this.#problem(text, question.conflict);
    if (problem === undefined) return text;
    refused.push({ step: "person", reason: problem });
    return undefined;
  }

  async #problem(text: string, conflict: ContentConflict): Promise<string | undefined> {
    try {
      return resultProblem(text, conflict) ?? (await this.#options.check?.(text, conflict));
    } catch (error) {
      return `the check failed: ${reasonOf(error)}`;
    }
  }
}

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
  assertContext(context, "conflict to resolve");
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
