import type { Message } from "../../checkpoint/messages/Message.ts";
import { UnknownToolError } from "../../errors/agent/UnknownToolError.ts";
import { ToolFailedError } from "../../errors/toolCall/ToolFailedError.ts";
import { ToolRejectedError } from "../../errors/toolCall/ToolRejectedError.ts";
import { ToolOutcomeUnknownError } from "../../errors/toolCall/ToolOutcomeUnknownError.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { customSchema, functionSchema, numberFrom, zodSchema } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import type { AgentContext, argumentsOf, ToolRef } from "../context/AgentContext.ts";
import { z } from "zod";

/**
 * What kind of side effect a call has. It decides what happens to a call in doubt, which began but has no recorded end:
 * `none` and `idempotent` run again; `reversible` and `irreversible` are decided by the tool's `probe`, then by
 * `onToolCallInDoubt` of `PersistenceConfig`. If neither decides, the run stops with ToolCallInDoubtError.
 */
export type ToolEffect = "none" | "idempotent" | "reversible" | "irreversible";

/** The second argument of a tool's `execute`. */
export interface ToolCallOptions {
  /** The library's id of the call, for use as an idempotency key: the same when it is retried or replayed, new after a rollback. */
  readonly toolCallId: string;
  /** The fencing token of the process that runs the agent; 0 without fencing. Pass it to systems that can check one. */
  readonly generation: number;
  /** The message history when the call began. */
  readonly messages: readonly Message[];
  /** Aborted when the run is aborted or moves; its `reason` says which. */
  readonly abortSignal: AbortSignal;
  /** A context of the calling node, bound to this call. */
  readonly context: AgentContext;
}

/** The second argument of a tool's `probe`. */
export interface ToolProbeOptions {
  /** The id that the call had when it began. */
  readonly toolCallId: string;
  /** Aborted when the run is aborted or moves. */
  readonly abortSignal: AbortSignal;
}

/**
 * What a probe found. `done` alone means that the output is `undefined`; return the output if callers or the inverse use
 * it. `not-done`: the call runs again under its id. `unknown`: the probe cannot decide.
 */
export type ToolProbeAnswer<Output = unknown> =
  | "done"
  | "not-done"
  | "unknown"
  | { readonly status: "done"; readonly output: Output };

/** Whether a call has to be approved, and what the person who approves it is shown. */
export type ApprovalVerdict =
  | boolean
  | {
      /** Default: a sentence with the name of the tool. */
      readonly prompt?: string | undefined;
      /** When the request for approval expires: then the call is rejected. Default: never. */
      readonly expiresAt?: Date | undefined;
    };

/** The second argument of a tool's `needsApproval`. */
export interface ToolApprovalOptions {
  /** The library's id of the call. */
  readonly toolCallId: string;
  /** Aborted when the run is aborted or moves. */
  readonly abortSignal: AbortSignal;
}

/** `Arguments`: what the model writes and the log stores. `Input`: what the schema returns and `execute` receives. */
export interface Tool<in Arguments = never, out Output = unknown, in Input = Arguments> {
  /** Unique among the tools of an agent. 1 to 64 letters of a to z, digits, `_` and `-`: models require this. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: z.ZodType;
  /** Default: `reversible` if an inverse is registered, otherwise `irreversible`. */
  readonly effect?: ToolEffect;
  /** Declares that a call may do great harm. The trigger `beforeDangerousOperation` saves a checkpoint before it. Default: false. */
  readonly dangerous?: boolean;
  /** Declares that a call reaches an external system, for the trigger `beforeExternalApiCall`. Default: false. */
  readonly externalApi?: boolean;
  /** Declares that a call changes files, for the trigger `afterFileModification`. Default: false. */
  readonly modifiesFiles?: boolean;
  /**
   * How long a call may take, in milliseconds. Then its signal aborts, and the call has failed if the tool's effect is `none`
   * or `idempotent`. Any other call that was cut short may have had its effect: its outcome is recorded as unknown, as that of
   * a call in doubt that was settled so. `Infinity` for no limit. Default: the agent's `toolTimeoutMs`.
   */
  readonly timeoutMs?: number;
  /**
   * Whether a call has to be approved by a person before it begins. A function judges the input that the schema returned, and
   * is not asked again once the request for approval is recorded. A rejected call is an error result for the model, and
   * ToolRejectedError for node code. Needs the feature Persistence. Default: false.
   */
  readonly needsApproval?:
    | boolean
    | ((input: Input, options: ToolApprovalOptions) => ApprovalVerdict | PromiseLike<ApprovalVerdict>);
  /** Its errors are reported to the model, or thrown as ToolFailedError to the node code that called. */
  readonly execute: (input: Input, options: ToolCallOptions) => Output | PromiseLike<Output>;
  /**
   * Finds out whether a call in doubt had its effect. Called before `onToolCallInDoubt`, but not for tools whose effect is
   * declared `none` or `idempotent`. An error counts as `unknown`. Absent: `unknown`.
   */
  readonly probe?: (
    input: Input,
    options: ToolProbeOptions,
  ) => ToolProbeAnswer<Output> | PromiseLike<ToolProbeAnswer<Output>>;
  readonly [argumentsOf]: (input: Arguments) => void;
}

/** A tool of any types. */
export type AnyTool = Tool<never, unknown, never>;

/** What every large provider accepts. */
const nameSchema = z.string().regex(/^[\w-]{1,64}$/, {
  error: ({ input }) =>
    `expected 1 to 64 letters of a to z, digits, "_" and "-", as models require, received ${JSON.stringify(input)}`,
});

const shape = {
  name: nameSchema,
  description: z.string(),
  inputSchema: zodSchema,
  effect: z.enum(["none", "idempotent", "reversible", "irreversible"]).optional(),
  dangerous: z.boolean().optional(),
  externalApi: z.boolean().optional(),
  modifiesFiles: z.boolean().optional(),
  timeoutMs: numberFrom(0).optional(),
  needsApproval: customSchema("true, false or a function", (value) =>
    ["boolean", "function"].includes(typeof value),
  ).optional(),
  execute: functionSchema(),
  probe: functionSchema().optional(),
};

const definitionSchema = strictOptions(shape);

/** Accepts tools of other libraries, which may have members of their own. */
export const toolSchema: z.ZodType = z
  .custom((value) => typeof (Object(value) as { readonly asTool?: unknown }).asTool !== "function", {
    error: "expected a tool, received an AIAgent. Pass agent.asTool({ … })",
    abort: true,
  })
  .pipe(z.object(shape));

/** Defines a tool. Its types are inferred from the schema and from `execute`. @throws InvalidInputError */
export function tool<Schema extends z.ZodType, Output>(definition: {
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
  checkSchema(definitionSchema, definition, "tool");
  // The phantom member exists only for the compiler.
  return Object.freeze({ ...definition }) as unknown as Tool<z.input<Schema>, Output, z.output<Schema>>;
}

/** Whether an error is the outcome of a tool call: node code may catch it, and the model is told it. */
export function isToolFailure(error: unknown): error is ToolFailedError | ToolOutcomeUnknownError | ToolRejectedError {
  return (
    error instanceof ToolFailedError || error instanceof ToolOutcomeUnknownError || error instanceof ToolRejectedError
  );
}

/** What the model is told of a call that failed. */
export function toldToModel(error: ToolFailedError | ToolOutcomeUnknownError | ToolRejectedError): string {
  return error instanceof ToolRejectedError ? `The call was rejected: ${error.reason}` : error.reason;
}

/** The names of tools. @throws UnknownToolError for a tool that a resumed run would not find: the agent does not have it. */
export function namesOfTools(known: ReadonlyMap<string, ToolRef>, tools: readonly ToolRef[]): readonly string[] {
  for (const tool of tools) {
    if (known.get(tool.name) !== tool) throw new UnknownToolError(tool.name, [...known.keys()]);
  }
  return tools.map(({ name }) => name);
}

/** The tools of these names. @throws UnknownToolError for a name that the agent does not have. */
export function toolsByNames(known: ReadonlyMap<string, AnyTool>, names: readonly string[]): readonly AnyTool[] {
  return names.map((name) => {
    const tool = known.get(name);
    if (!tool) throw new UnknownToolError(name, [...known.keys()]);
    return tool;
  });
}
