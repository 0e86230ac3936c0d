import { z } from "zod";
import type { Message } from "../../checkpoint/messages/Message.ts";
import { UnknownToolError } from "../../errors/agentErrors.ts";
import { quoted } from "../../errors/AgentPersistenceError.ts";
import { ToolFailedError, ToolRejectedError, ToolOutcomeUnknownError } from "../../errors/toolCallErrors.ts";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import {
  customSchema,
  customText,
  functionSchema,
  numberFrom,
  zodSchema,
} from "../../internal/options/optionSchemas.ts";
import type { AgentContext, argumentsOf, ToolRef } from "../context/AgentContext.ts";
import type { InputRequest } from "../context/InputRequest.ts";

/**
 * The kind of side effect of a tool call. It decides what happens to a call in doubt, which started but has no recorded
 * outcome. `none` and `idempotent` calls run again. For `reversible` and `irreversible` calls, the `probe` of the tool
 * decides, then `onToolCallInDoubt` of `PersistenceConfig`. If neither can decide, the run stops with
 * ToolCallInDoubtError.
 */
export type ToolEffect = "none" | "idempotent" | "reversible" | "irreversible";

/** The second argument of a tool's `execute`. */
export interface ToolCallOptions {
  /** An idempotency key: the id of the call stays the same in retries and replays, and changes after a rollback. */
  readonly toolCallId: string;
  /** The fencing token of the process that runs the agent, for systems that check such tokens. 0 without fencing. */
  readonly generation: number;
  /** The message history at the start of the call. */
  readonly messages: readonly Message[];
  /** Aborted when the run is aborted or moves. `reason` shows which of the two happened. */
  readonly abortSignal: AbortSignal;
  /**
   * The context of the calling node for code in this call. It can change storage, messages and settings until the call
   * ends. If the node runs again after a crash, a finished call repeats its recorded changes and does not run.
   */
  readonly context: AgentContext;
}

/** The second argument of a tool's `probe`. */
export interface ToolProbeOptions {
  readonly toolCallId: string;
  /** Aborted when the run is aborted or moves. */
  readonly abortSignal: AbortSignal;
}

/**
 * The result of a probe. If callers or the inverse use the output, pass it with `done`. Otherwise the output is
 * `undefined`. `not-done` runs the call again with the same id. `unknown` leaves the decision open.
 */
export type ToolProbeAnswer<Output = unknown> =
  | "done"
  | "not-done"
  | "unknown"
  | { readonly status: "done"; readonly output: Output };

/** Whether a call needs approval, and the text that the approving person sees. */
export type ApprovalVerdict =
  | boolean
  | {
      /** Defaults to a sentence with the name of the tool. */
      readonly prompt?: string | undefined;
      /** When the request for approval expires, which rejects the call. Defaults to never. */
      readonly expiresAt?: Date | undefined;
    };

/** The second argument of a tool's `needsApproval`. */
export interface ToolApprovalOptions {
  readonly toolCallId: string;
  /** Aborted when the run is aborted or moves. */
  readonly abortSignal: AbortSignal;
}

/** A tool. The model writes `Arguments`, which the log stores. `execute` gets the parsed `Input`. */
export interface Tool<in Arguments = never, out Output = unknown, in Input = Arguments> {
  /** Unique among the tools of an agent. 1 to 64 letters a to z, digits, `_` and `-`, as model providers require. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: z.core.$ZodType;
  /** Defaults to `reversible` with a registered inverse, otherwise to `irreversible`. */
  readonly effect?: ToolEffect;
  /** Marks calls as dangerous. The trigger `beforeDangerousOperation` saves before them. Defaults to `false`. */
  readonly dangerous?: boolean;
  /** Marks calls to external systems. The trigger `beforeExternalApiCall` saves before them. Defaults to `false`. */
  readonly externalApi?: boolean;
  /** Marks calls that change files. The trigger `afterFileModification` saves after them. Defaults to `false`. */
  readonly modifiesFiles?: boolean;
  /**
   * The time limit of a call in milliseconds. When the time is over, the signal aborts. A call with effect `none` or
   * `idempotent` then fails. Any other call could still take effect, so its outcome is recorded as unknown, as for a
   * call in doubt. `Infinity` for no limit. Defaults to the agent's `toolTimeoutMs`.
   */
  readonly timeoutMs?: number;
  /**
   * Whether a person must approve a call before it starts. A function receives the parsed input and decides. After the
   * request for approval is recorded, the function is not called again. A rejected call becomes an error result for the
   * model, and ToolRejectedError for node code. Requires Persistence. Defaults to `false`.
   */
  readonly needsApproval?:
    | boolean
    | ((input: Input, options: ToolApprovalOptions) => ApprovalVerdict | PromiseLike<ApprovalVerdict>);
  /** Executes a call. Errors are reported to the model, or thrown as ToolFailedError to node code. */
  readonly execute: (input: Input, options: ToolCallOptions) => Output | PromiseLike<Output>;
  /**
   * Checks whether a call in doubt took effect. Called before `onToolCallInDoubt`. Not called for tools with effect
   * `none` or `idempotent`. An error counts as `unknown`. Defaults to `unknown`.
   */
  readonly probe?: (
    input: Input,
    options: ToolProbeOptions,
  ) => ToolProbeAnswer<Output> | PromiseLike<ToolProbeAnswer<Output>>;
  readonly [argumentsOf]: (input: Arguments) => void;
}

export type AnyTool = Tool<never, unknown, never>;

/** The name format that all large providers accept. */
const nameSchema = z.string().regex(/^[\w-]{1,64}$/, {
  error: ({ input }) =>
    `expected 1 to 64 letters of a to z, digits, "_" and "-", as models require, received ${JSON.stringify(input)}`,
});

const effects: readonly unknown[] = ["none", "idempotent", "reversible", "irreversible"] satisfies ToolEffect[];

/** The members of a tool that its author can leave out. */
export const toolSettings = {
  effect: customText<ToolEffect>(`one of ${effects.join(", ")}`, (value) => effects.includes(value)).optional(),
  dangerous: z.boolean().optional(),
  externalApi: z.boolean().optional(),
  modifiesFiles: z.boolean().optional(),
  timeoutMs: numberFrom(0).optional(),
  needsApproval: customSchema("true, false or a function", (value) =>
    ["boolean", "function"].includes(typeof value),
  ).optional(),
  probe: functionSchema().optional(),
};

const shape = {
  name: nameSchema,
  description: z.string(),
  inputSchema: zodSchema,
  execute: functionSchema(),
  ...toolSettings,
};

const definitionSchema = strictOptions(() => shape);

/** Accepts tools of other libraries, which can have additional fields. */
export const toolSchema: z.ZodType = z
  .custom((value) => typeof (Object(value) as { readonly asTool?: unknown }).asTool !== "function", {
    error: "expected a tool, received an AIAgent. Pass agent.asTool({ … })",
    abort: true,
  })
  .pipe(z.object(shape));

/**
 * Defines a tool. The types are inferred from the schema and from `execute`.
 *
 * @example
 * ```ts
 * const signUp = tool({
 *   name: "signUp",
 *   description: "Signs a person up.",
 *   inputSchema: z.object({ name: z.string() }),
 *   effect: "idempotent",
 *   execute: ({ name }, { toolCallId }) => users.set(toolCallId, name).size,
 * });
 * ```
 * @throws InvalidInputError for a wrong or unknown member.
 */
export function tool<Schema extends z.core.$ZodType, Output>(definition: {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Schema;
  readonly effect?: ToolEffect | undefined;
  readonly dangerous?: boolean | undefined;
  readonly externalApi?: boolean | undefined;
  readonly modifiesFiles?: boolean | undefined;
  readonly timeoutMs?: number | undefined;
  readonly needsApproval?:
    | boolean
    | ((input: z.output<Schema>, options: ToolApprovalOptions) => ApprovalVerdict | PromiseLike<ApprovalVerdict>)
    | undefined;
  readonly execute: (input: z.output<Schema>, options: ToolCallOptions) => Output | PromiseLike<Output>;
  readonly probe?:
    | ((
        input: z.output<Schema>,
        options: ToolProbeOptions,
      ) => ToolProbeAnswer<NoInfer<Output>> | PromiseLike<ToolProbeAnswer<NoInfer<Output>>>)
    | undefined;
}): Tool<z.input<Schema>, Output, z.output<Schema>> {
  const { name } = Object(definition) as { readonly name?: unknown };
  checkSchema(definitionSchema, definition, typeof name === "string" ? `tool ${quoted(name)}` : "tool");
  return Object.freeze({ ...definition }) as unknown as Tool<z.input<Schema>, Output, z.output<Schema>>;
}

/** Returns whether an error is the outcome of a tool call, which node code can catch and the model sees. */
export function isToolFailure(error: unknown): error is ToolFailedError | ToolOutcomeUnknownError | ToolRejectedError {
  return (
    error instanceof ToolFailedError || error instanceof ToolOutcomeUnknownError || error instanceof ToolRejectedError
  );
}

export function toldToModel(error: ToolFailedError | ToolOutcomeUnknownError | ToolRejectedError): string {
  return error instanceof ToolRejectedError ? `The call was rejected: ${error.reason}` : error.reason;
}

/** Returns the names of tools. @throws UnknownToolError for a tool that a resumed run could not find. */
export function namesOfTools(known: ReadonlyMap<string, ToolRef>, tools: readonly ToolRef[]): readonly string[] {
  for (const tool of tools) {
    if (known.get(tool.name) !== tool) throw new UnknownToolError(tool.name, [...known.keys()]);
  }
  return tools.map(({ name }) => name);
}

export function toolsByNames(known: ReadonlyMap<string, AnyTool>, names: readonly string[]): readonly AnyTool[] {
  return names.map((name) => {
    const tool = known.get(name);
    if (!tool) throw new UnknownToolError(name, [...known.keys()]);
    return tool;
  });
}

const code: unique symbol = Symbol("code");

/** Code snippets for error messages about a call in doubt, for a tool that `tool()` did not create. */
export interface ToolCode {
  /** The code that declares calls of the tool safe to repeat. */
  readonly declaration: string;
  /** The start of the code that resolves a call in doubt. */
  readonly settling: (agentId: string, toolCallId: string) => string;
}

export function withCode(tool: AnyTool, own: ToolCode): AnyTool {
  return { ...tool, [code]: own } as AnyTool;
}

/** Returns `undefined` for a tool that `tool()` created. */
export function codeOfTool(tool: AnyTool | undefined): ToolCode | undefined {
  return (tool as { readonly [code]?: ToolCode } | undefined)?.[code];
}

export const unexplainedRejection = "it was not approved";

const approvalSchema = z.lazy(() =>
  z.strictObject({ approved: z.boolean(), reason: z.string().optional(), signature: z.string().optional() }),
);

/** Creates the request for approval of a tool call. @param verdict The result of `needsApproval`. */
export function approvalRequest(toolName: string, verdict: Exclude<ApprovalVerdict, false> = true): InputRequest {
  const { prompt = `Approve the call of tool "${toolName}"?`, expiresAt } = verdict === true ? {} : verdict;
  return { prompt, schema: approvalSchema, waitingFor: "human_approval", ...(expiresAt && { expiresAt }) };
}

/** Checks the answer to a request for approval. @throws ToolRejectedError, InvalidInputError */
export function assertApproved(
  answer: unknown,
  { tool, toolCallId }: { readonly tool: AnyTool; readonly toolCallId: string },
  by?: string,
): void {
  checkSchema(approvalSchema, answer, `answer to the request for approval of tool "${tool.name}"`);
  const { approved, reason = unexplainedRejection } = answer as z.output<typeof approvalSchema>;
  if (!approved) throw new ToolRejectedError(tool.name, toolCallId, reason, by);
}
