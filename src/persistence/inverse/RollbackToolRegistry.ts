import { z } from "zod";
import { toolSchema, type AnyTool, type Tool, type ToolEffect } from "../../agent/tool/Tool.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { customSchema } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";

/** A call that is being reverted, as its inverse sees it. */
export interface RolledBackCall<out Input = unknown, out Output = unknown> {
  /** The id of the original call. */
  readonly toolCallId: string;
  /** The original input, validated again. */
  readonly input: Input;
  /** The original result; `undefined` when it could not be stored. If what is stored cannot be read, getting it throws. */
  readonly output: Output;
  readonly abortSignal: AbortSignal;
}

/** An inverse that is a function. */
export type InverseFunction = (input: unknown, call: RolledBackCall) => unknown;

/** How the calls of one tool are reverted. */
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
  options: strictOptions({ effect: z.enum(["none", "idempotent", "reversible", "irreversible"]).optional() }),
});

/** The inverses of tools. You are responsible for an inverse that undoes the whole effect. */
export class RollbackToolRegistry {
  readonly #inverses = new Map<string, Inverse>();

  /**
   * Registers a function, which also gets the original result. It replaces an earlier inverse of the tool.
   *
   * @param options.effect `idempotent` when reverting the same call twice equals reverting it once: if a crash interrupts
   * the inverse, it then runs again. Absent: an interrupted inverse is in doubt.
   */
  registerRollback<Output, Input>(
    tool: Tool<never, Output, Input>,
    inverse: (input: NoInfer<Input>, call: RolledBackCall<NoInfer<Input>, NoInfer<Output>>) => unknown,
    options?: { readonly effect?: ToolEffect | undefined },
  ): this;
  /**
   * Registers a tool that takes exactly the same arguments. It replaces an earlier inverse of the tool. The inverse runs
   * under its own tool-call id, without messages; its context has only the agent, run and node that the rollback leads to.
   */
  registerRollback<Arguments>(
    tool: Tool<Arguments, unknown, never>,
    inverse: Tool<NoInfer<Arguments>, unknown, never>,
  ): this;
  registerRollback(tool: unknown, inverse: unknown, options: { readonly effect?: ToolEffect | undefined } = {}): this {
    checkSchema(registrationSchema, { tool, inverse, options }, "inverse to register");
    // The overloads have checked that the types of the two fit.
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
