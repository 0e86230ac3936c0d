import { z } from "zod";
import { toolSettings, toolSchema, type AnyTool, type Tool, type ToolEffect } from "../../agent/tool/Tool.ts";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { customSchema, numberFrom, integerFrom } from "../../internal/options/optionSchemas.ts";

/** A call that is reverted, as its inverse receives it. */
export interface RolledBackCall<out Input = unknown, out Output = unknown> {
  readonly toolCallId: string;
  /** The original input, validated again. */
  readonly input: Input;
  /** The output of the original call. `undefined` if it could not be stored. The getter throws if it is unreadable. */
  readonly output: Output;
  readonly abortSignal: AbortSignal;
}

export type InverseFunction = (input: unknown, call: RolledBackCall) => unknown;

export type Inverse = { readonly tool: AnyTool; readonly effect: ToolEffect | undefined } & (
  | { readonly kind: "tool"; readonly inverse: AnyTool }
  | { readonly kind: "function"; readonly inverse: InverseFunction }
);

const registrationSchema = z.object({
  tool: toolSchema,
  inverse: customSchema(
    "a function or a tool",
    (value) => typeof value === "function" || toolSchema.safeParse(value).success,
  ),
  options: strictOptions(() => ({ effect: toolSettings.effect })),
});

/**
 * The inverses of tools. Make sure that each inverse undoes the whole effect of its tool.
 *
 * @example
 * ```ts
 * const rollbackToolRegistry = new RollbackToolRegistry().registerRollback(
 *   createUser,
 *   (_input, { toolCallId }) => users.delete(toolCallId),
 *   { effect: "idempotent" },
 * );
 * agent.install(Persistence, { storage, rollbackToolRegistry });
 * ```
 */
export class RollbackToolRegistry {
  readonly #inverses = new Map<string, Inverse>();

  /**
   * Registers a function, which also gets the original result. Replaces an earlier inverse of the tool.
   *
   * @param options.effect `idempotent` if the inverse may run twice. It then runs again after a crash. Any other
   *   interrupted inverse is in doubt.
   */
  registerRollback<Output, Input>(
    tool: Tool<never, Output, Input>,
    inverse: (input: NoInfer<Input>, call: RolledBackCall<NoInfer<Input>, NoInfer<Output>>) => unknown,
    options?: { readonly effect?: ToolEffect | undefined },
  ): this;
  /**
   * Registers a tool as the inverse, which takes exactly the same arguments. Replaces an earlier inverse of the tool.
   * The inverse has a separate tool-call id and no messages. Its context contains only the agent, the run and the
   * target node.
   */
  registerRollback<Arguments>(
    tool: Tool<Arguments, unknown, never>,
    inverse: Tool<NoInfer<Arguments>, unknown, never>,
  ): this;
  registerRollback(tool: unknown, inverse: unknown, options: { readonly effect?: ToolEffect | undefined } = {}): this {
    checkSchema(registrationSchema, { tool, inverse, options }, "inverse to register");
    // The overloads ensure that the types of the tool and the inverse match.
    const original = tool as AnyTool;
    const registered: Inverse =
      typeof inverse === "function"
        ? { kind: "function", tool: original, inverse: inverse as InverseFunction, effect: options.effect }
        : { kind: "tool", tool: original, inverse: inverse as AnyTool, effect: (inverse as AnyTool).effect };
    this.#inverses.set(original.name, registered);
    return this;
  }

  inverseOf(toolName: string): Inverse | undefined {
    return this.#inverses.get(toolName);
  }

  has(toolName: string): boolean {
    return this.#inverses.has(toolName);
  }
}

/** The number of attempts of an inverse before the rollback stops, and the delay between them. */
export interface InverseRetry {
  /** At least 1. Defaults to 3. */
  readonly attempts?: number | undefined;
  /** The delay between two attempts, in milliseconds of the configured clock. Defaults to 100. */
  readonly delayMs?: number | undefined;
}

export const inverseRetrySchema: z.ZodType<InverseRetry> = strictOptions(() => ({
  attempts: integerFrom(1).optional(),
  delayMs: numberFrom(0).optional(),
}));
