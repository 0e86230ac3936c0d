import { z } from "zod";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { functionSchema, zodSchema, nonEmptyString } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import type { Message } from "../../checkpoint/messages/Message.ts";
import type { AgentContext } from "../context/AgentContext.ts";
import type { argumentsOf } from "../context/ToolRef.ts";

/**
 * What a call does to the world, which decides what happens to a call that began and whose end nobody knows:
 * `none` and `idempotent` run again; of `reversible` and `irreversible` the tool's own `probe` is asked, then
 * `onToolCallInDoubt` of `PersistenceConfig`, and without an answer the run stops with ToolCallInDoubtError.
 */
export type ToolEffect = "none" | "idempotent" | "reversible" | "irreversible";

/** What a tool gets beside its input. */
export interface ToolCallOptions {
  /** The library's own id, not the provider's: the same when the call is retried or replayed, another after a rollback. Use it as idempotency key. */
  readonly toolCallId: string;
  /** The fencing token of the process that runs the agent; 0 where nothing fences. Pass it to systems that can check one. */
  readonly generation: number;
  /** The message history when the call began. */
  readonly messages: readonly Message[];
  /** Aborted when the run is aborted or moves elsewhere; its `reason` says which. */
  readonly abortSignal: AbortSignal;
  /** The context of the node that called, bound to this call. */
  readonly context: AgentContext;
}

/** What a probe gets beside the input of the call. */
export interface ToolProbeOptions {
  /** The id that the call had when it began. */
  readonly toolCallId: string;
  /** Aborted when the run is aborted or moves elsewhere. */
  readonly abortSignal: AbortSignal;
}

/**
 * What a probe found. `done` alone stands for a call whose output is `undefined`; where callers or the inverse use the
 * output, give it. `not-done`: the call is made again under its id. `unknown`: somebody else has to decide.
 */
export type ToolProbeAnswer<Output = unknown> =
  | "done"
  | "not-done"
  | "unknown"
  | { readonly status: "done"; readonly output: Output };

/** `Arguments`: what the model writes and the log stores. `Input`: what `execute` gets, after the schema. */
export interface Tool<in Arguments = never, out Output = unknown, in Input = Arguments> {
  /** Unique among the tools of an agent. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: z.ZodType;
  /** Default: `reversible` when an inverse is registered, else `irreversible`. */
  readonly effect?: ToolEffect;
  /** Declares that a call may do great harm. With the trigger `beforeDangerousOperation` a checkpoint is durable before it. Default false. */
  readonly dangerous?: boolean;
  /** Declares that a call reaches a system outside, for the trigger `beforeExternalApiCall`. Default false. */
  readonly externalApi?: boolean;
  /** Declares that a call changes files, for the trigger `afterFileModification`. Default false. */
  readonly modifiesFiles?: boolean;
  /** What it throws is told to the model, or to the node code that called. */
  readonly execute: (input: Input, options: ToolCallOptions) => Output | PromiseLike<Output>;
  /**
   * Looks whether a call that began, and whose end a crash kept from being recorded, had its effect. Asked before anybody
   * else; not asked for tools declared `none` or `idempotent`. What it throws counts as `unknown`. Absent: `unknown`.
   */
  readonly probe?: (
    input: Input,
    options: ToolProbeOptions,
  ) => ToolProbeAnswer<Output> | PromiseLike<ToolProbeAnswer<Output>>;
  readonly [argumentsOf]: (input: Arguments) => void;
}

/** A tool whatever its types. */
export type AnyTool = Tool<never, unknown, never>;

const shape = {
  name: nonEmptyString,
  description: z.string(),
  inputSchema: zodSchema,
  effect: z.enum(["none", "idempotent", "reversible", "irreversible"]).optional(),
  dangerous: z.boolean().optional(),
  externalApi: z.boolean().optional(),
  modifiesFiles: z.boolean().optional(),
  execute: functionSchema(),
  probe: functionSchema().optional(),
};

const definitionSchema = strictOptions(shape);

/** Of a tool that another library may have made, with members of its own. */
export const toolSchema: z.ZodType = z.object(shape);

/** Defines a tool; its types follow from the schema and from what `execute` returns. @throws InvalidInputError */
export function tool<Schema extends z.ZodType, Output>(definition: {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Schema;
  readonly effect?: ToolEffect | undefined;
  readonly dangerous?: boolean | undefined;
  readonly externalApi?: boolean | undefined;
  readonly modifiesFiles?: boolean | undefined;
  readonly execute: (input: z.output<Schema>, options: ToolCallOptions) => Output | PromiseLike<Output>;
  readonly probe?:
    | ((
        input: z.output<Schema>,
        options: ToolProbeOptions,
      ) => ToolProbeAnswer<NoInfer<Output>> | PromiseLike<ToolProbeAnswer<NoInfer<Output>>>)
    | undefined;
}): Tool<z.input<Schema>, Output, z.output<Schema>> {
  checkSchema(definitionSchema, definition, "tool");
  // The phantom member exists for the compiler alone.
  return Object.freeze({ ...definition }) as unknown as Tool<z.input<Schema>, Output, z.output<Schema>>;
}
