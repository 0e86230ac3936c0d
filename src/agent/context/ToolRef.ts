/** Phantom key of tools: it exists only for the compiler. */
export declare const argumentsOf: unique symbol;

/** The part of a `Tool` by which a context names it. */
export interface ToolRef<in Arguments = never, out Output = unknown> {
  /** Unique among the tools of an agent. */
  readonly name: string;
  readonly execute: (input: never, options: never) => Output | PromiseLike<Output>;
  readonly [argumentsOf]: (input: Arguments) => void;
}
