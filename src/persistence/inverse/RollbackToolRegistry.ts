import { z } from "zod";
import { toolSchema, type AnyTool, type Tool, type ToolEffect } from "../../agent/tool/Tool.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { customSchema } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";

/** A call that is being taken back, as its inverse sees it. */
export interface RolledBackCall<out Input = unknown, out Output = unknown> {
  /** The id that the original call had. */
  readonly toolCallId: string;
  /** The original input, validated again. */
  readonly input: Input;
  /** The original result; `undefined` when it could not be stored. */
  readonly output: Output;
  readonly abortSignal: AbortSignal;
}

/** An inverse that is a function. */
export type InverseFunction = (input: unknown, call: RolledBackCall) => unknown;

/** How the calls of one tool are taken back. */
export type Inverse =
  | { readonly kind: "tool"; readonly tool: AnyTool; readonly inverse: AnyTool }
  | {
      readonly kind: "function";
      readonly tool: AnyTool;
      readonly inverse: InverseFunction;
      readonly effect: ToolEffect | undefined;
    };

function isInverse(value: unknown): boolean {
  return typeof value === "function" || toolSchema.safeParse(value).success;
}

const registrationSchema = z.object({
  tool: toolSchema,
  inverse: customSchema("a function or a tool", isInverse),
  options: strictOptions({ effect: z.enum(["none", "idempotent", "reversible", "irreversible"]).optional() }),
});

/** For each tool with an effect, what undoes a call of it. That the inverse undoes everything is its author's responsibility. */
export class RollbackToolRegistry {
  readonly #inverses = new Map<string, Inverse>();

  /**
   * The form that also gets the original result. A tool registered again gets the newer inverse.
   *
   * @param options.effect `idempotent` when taking the same call back twice is the same as once: an inverse that a crash
   * cut short then runs again. Absent: nothing is known of it, and such an inverse is in doubt.
   */
  registerRollback<Output, Input>(
    tool: Tool<never, Output, Input>,
    inverse: (input: NoInfer<Input>, call: RolledBackCall<NoInfer<Input>, NoInfer<Output>>) => unknown,
    options?: { readonly effect?: ToolEffect | undefined },
  ): this;
  /**
   * The form of a tool that takes exactly the same arguments. A tool registered again gets the newer inverse. The inverse
   * runs under a tool-call id of its own, with no messages and a context that says where the rollback goes and no more.
   */
  registerRollback<Arguments>(
    tool: Tool<Arguments, unknown, never>,
    inverse: Tool<NoInfer<Arguments>, unknown, never>,
  ): this;
  registerRollback(tool: unknown, inverse: unknown, options: { readonly effect?: ToolEffect | undefined } = {}): this {
    checkSchema(registrationSchema, { tool, inverse, options }, "inverse to register");
    // The overloads have checked that the two fit; from here on their types are known by name only.
    const original = tool as AnyTool;
    if (typeof inverse === "function")
      this.#inverses.set(original.name, {
        kind: "function",
        tool: original,
        inverse: inverse as InverseFunction,
        effect: options.effect,
      });
    else this.#inverses.set(original.name, { kind: "tool", tool: original, inverse: inverse as AnyTool });
    return this;
  }

  /** The inverse of a tool by its name; `undefined` when none is registered. */
  inverseOf(toolName: string): Inverse | undefined {
    return this.#inverses.get(toolName);
  }

  has(toolName: string): boolean {
    return this.#inverses.has(toolName);
  }
}
