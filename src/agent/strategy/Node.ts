import type { RunMoved } from "../context/RunMoved.ts";

/** Phantom keys of nodes and strategies; they exist for the compiler alone. */
export declare const inputOf: unique symbol;
export declare const outputOf: unique symbol;

/** A step of a strategy, as its edges see it. */
export interface Node<in Input = never, out Output = unknown> {
  /** Unique in its graph; holds no "/". */
  readonly name: string;
  readonly [inputOf]: (input: Input) => void;
  readonly [outputOf]: () => Output;
}

/** What a node takes; of a union, what all of them accept. */
export type InputOf<N> = [N] extends [Node<infer In, unknown>] ? In : never;
/** What a node gives. */
export type OutputOf<N> = N extends Node<never, infer Out> ? Out : never;
/** What a node gives whose body returns `Returned`: a moved run gives nothing. */
export type NodeOutput<Returned> = Exclude<Awaited<Returned>, RunMoved>;
