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

/** What `askPerson` gets. */
export interface ConflictQuestion {
  readonly conflict: ContentConflict;
  /** The merge, with markers around conflicts. */
  readonly merged: MergeResult;
  /** A result that passed every check and still needs approval: the clean merge or the model's. Absent: there is none. */
  readonly proposal?: { readonly by: "merge" | "model"; readonly text: string };
  readonly signal: AbortSignal;
}

/** How to resolve conflicts. */
export interface ConflictResolverOptions {
  /**
   * What may be applied without a person. `merge`: clean merges; a person sees what the model proposes. `model`: the
   * model's proposals too. `ask`: nothing. Default: `merge`.
   */
  readonly automation?: "merge" | "model" | "ask" | undefined;
  /** Asked when the merge is not clean or fails `check`. Absent: no model is asked. */
  readonly model?: { readonly promptExecutor: PromptExecutor; readonly name: string } | undefined;
  /** Asked last. Returns the content, or `undefined` to leave the conflict unresolved. Absent: no person is asked. */
  readonly askPerson?:
    | ((question: ConflictQuestion) => PromiseLike<string | undefined> | string | undefined)
    | undefined;
  /** Checks each result, including a person's: returns what is wrong with it, such as a compiler error. Absent: no check. */
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

const marker = /^(?:<{7}|={7}|>{7}|\|{7})(?: .*)?\r?$/;

type Proposal = NonNullable<ConflictQuestion["proposal"]>;

/**
 * Resolves conflicts step by step: a clean merge, then the model, then a person. A result is not applied when it contains
 * conflict markers, is empty although neither side is, or fails `check`, whoever made it; then the next step is asked. A
 * failure of the model or of `check` counts as a refusal.
 */
export class ConflictResolver {
  readonly #options: ConflictResolverOptions;

  /** @throws InvalidInputError */
  constructor(options: ConflictResolverOptions = {}) {
    checkSchema(optionsSchema, options, "options of the conflict resolver");
    this.#options = options;
  }

  /**
   * @param signal aborts it: `resolve` then rejects with the reason.
   * @throws InvalidInputError; what `askPerson` throws.
   */
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
    if (proposal !== undefined && mayApply) return resolved(proposal.by, proposal.text, refused);
    const text = await this.#askPerson({ conflict, merged, ...(proposal && { proposal }), signal }, refused);
    signal.throwIfAborted();
    return text === undefined ? { resolved: false, merged, refused } : resolved("person", text, refused);
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
      typeof text === "string" ? await this.#problem(text, conflict) : (text?.message ?? "it returned no file");
    if (typeof text === "string" && problem === undefined) return { by: "model", text };
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
      return `the check failed: ${messageOf(error)}`;
    }
  }
}

function resolved(resolvedBy: ResolutionStep, text: string, refused: readonly RefusedResolution[]): ResolutionOutcome {
  return { resolved: true, resolvedBy, text, refused };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Why a text cannot be the result of a conflict; `undefined` when it can. */
function resultProblem(text: string, { base, ours, theirs }: ContentConflict): string | undefined {
  if (text.trim() === "" && ours.trim() !== "" && theirs.trim() !== "") return "it is empty, and neither side is";
  const known = new Set([base, ours, theirs].flatMap((side) => side.split("\n")));
  const left = text.split("\n").find((line) => marker.test(line) && !known.has(line));
  return left === undefined ? undefined : `a conflict marker is left: ${JSON.stringify(left)}`;
}
