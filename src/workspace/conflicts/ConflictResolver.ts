import { z } from "zod";
import type { PromptExecutor } from "../../agent/model/PromptExecutor.ts";
import { textOf } from "../../agent/model/nodes.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import {
  abortSignalSchema,
  functionSchema,
  nonEmptyString,
  objectWithMethods,
} from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import { mergeThreeWay } from "../merge/mergeThreeWay.ts";
import type { MergeResult } from "../merge/MergeResult.ts";
import { conflictSchema, type ContentConflict } from "./ContentConflict.ts";
import type { RefusedResolution, ResolutionOutcome, ResolutionStep } from "./ResolutionOutcome.ts";
import { mergedIn, resolutionPrompt } from "./resolutionPrompt.ts";
import { resultProblem } from "./resultProblem.ts";

/** What a person is shown. */
export interface ConflictQuestion {
  readonly conflict: ContentConflict;
  /** Between markers where the sides conflict. */
  readonly merged: MergeResult;
  /** A result that passed every check and that nobody has agreed to yet: the clean merge, or the model's. */
  readonly proposal?: { readonly by: "merge" | "model"; readonly text: string };
  readonly signal: AbortSignal;
}

/** How conflicts are resolved. */
export interface ConflictResolverOptions {
  /**
   * How far it may go without a person: `merge` (default) applies clean merges and shows a person what the model
   * proposes; `model` applies what the model proposes too; `ask` applies nothing that no person has seen.
   */
  readonly automation?: "merge" | "model" | "ask" | undefined;
  /** Asked when the merge is not clean. Absent: no model is asked. */
  readonly model?: { readonly promptExecutor: PromptExecutor; readonly name: string } | undefined;
  /** Asked last. Gives the content, or `undefined` to leave the conflict as it is. Absent: nobody is asked. */
  readonly askPerson?:
    | ((question: ConflictQuestion) => PromiseLike<string | undefined> | string | undefined)
    | undefined;
  /** The last word on each result, a person's included: gives what is wrong with it, such as what a compiler says. */
  readonly check?:
    | ((text: string, conflict: ContentConflict) => PromiseLike<string | undefined> | string | undefined)
    | undefined;
}

const optionsSchema = strictOptions({
  automation: z.enum(["merge", "model", "ask"]).optional(),
  model: strictOptions({
    promptExecutor: objectWithMethods<PromptExecutor>("execute"),
    name: nonEmptyString,
  }).optional(),
  askPerson: functionSchema().optional(),
  check: functionSchema().optional(),
});

const resolveSchema = z.object({ conflict: conflictSchema, signal: abortSignalSchema });

type Proposal = NonNullable<ConflictQuestion["proposal"]>;

/**
 * Resolves conflicts in a chain: a clean merge, then the model, then a person. A result in which conflict markers are left,
 * that is empty where neither side was, or that fails `check` is not applied, whoever made it; the next one is asked. A
 * failure of the model or of the check counts as a refusal.
 */
export class ConflictResolver {
  readonly #options: ConflictResolverOptions;

  /** @throws InvalidInputError */
  constructor(options: ConflictResolverOptions = {}) {
    checkSchema(optionsSchema, options, "options of the conflict resolver");
    this.#options = options;
  }

  /** @param signal ends it: `resolve` then rejects with its reason. */
  async resolve(
    conflict: ContentConflict,
    signal: AbortSignal = new AbortController().signal,
  ): Promise<ResolutionOutcome> {
    checkSchema(resolveSchema, { conflict, signal }, "conflict to resolve");
    const { automation = "merge" } = this.#options;
    const refused: RefusedResolution[] = [];
    const merged = mergeThreeWay(conflict.base, conflict.ours, conflict.theirs, { lineEndings: "merge" });
    const proposal =
      (await this.#tryMerge(merged, conflict, refused)) ?? (await this.#tryModel(conflict, refused, signal));
    signal.throwIfAborted();
    const mayApply = automation === "model" || (automation === "merge" && proposal?.by === "merge");
    if (proposal !== undefined && mayApply) return settled(proposal.by, proposal.text, refused);
    const text = await this.#askPerson({ conflict, merged, ...(proposal && { proposal }), signal }, refused);
    signal.throwIfAborted();
    return text === undefined ? { settled: false, merged, refused } : settled("person", text, refused);
  }

  async #tryMerge(
    merged: MergeResult,
    conflict: ContentConflict,
    refused: RefusedResolution[],
  ): Promise<Proposal | undefined> {
    const problem = merged.clean ? await this.#problem(merged.text, conflict) : "both sides changed the same lines";
    if (problem === undefined) return { by: "merge", text: merged.text };
    refused.push({ step: "merge", reason: problem });
    return undefined;
  }

  async #tryModel(
    conflict: ContentConflict,
    refused: RefusedResolution[],
    signal: AbortSignal,
  ): Promise<Proposal | undefined> {
    if (this.#options.model === undefined) return undefined;
    const { promptExecutor, name } = this.#options.model;
    const messages = resolutionPrompt(conflict);
    const text = await promptExecutor
      .execute({ messages, tools: [], model: name, abortSignal: signal })
      .then(({ message }) => mergedIn(textOf(message), conflict))
      .catch((error: unknown) => new Error(`the model failed: ${messageOf(error)}`));
    const problem =
      typeof text === "string" ? await this.#problem(text, conflict) : (text?.message ?? "it gave no file");
    if (typeof text === "string" && problem === undefined) return { by: "model", text };
    refused.push({ step: "model", reason: problem ?? "it gave no file" });
    return undefined;
  }

  async #askPerson(question: ConflictQuestion, refused: RefusedResolution[]): Promise<string | undefined> {
    if (this.#options.askPerson === undefined) return undefined;
    const text = await this.#options.askPerson(question);
    const problem = text === undefined ? "left as it is" : await this.#problem(text, question.conflict);
    if (problem === undefined) return text;
    refused.push({ step: "person", reason: problem });
    return undefined;
  }

  async #problem(text: string, conflict: ContentConflict): Promise<string | undefined> {
    try {
      return resultProblem(text, conflict) ?? (await this.#options.check?.(text, conflict));
    } catch (error) {
      return `the check failed: ${messageOf(error)}`;
    }
  }
}

function settled(settledBy: ResolutionStep, text: string, refused: readonly RefusedResolution[]): ResolutionOutcome {
  return { settled: true, settledBy, text, refused };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
