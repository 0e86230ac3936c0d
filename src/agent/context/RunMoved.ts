const moved: unique symbol = Symbol.for("agent-persistence.moved");

/** The result of a move. A node can return this result without declaring it in the output type. */
export interface RunMoved {
  readonly [moved]: true;
}

/** Marks a value as the result of a move. The mark is not enumerable, so comparisons and printed output ignore it. */
export function runMoved<Value extends object>(value: Value): Value & RunMoved {
  Object.defineProperty(value, moved, { value: true });
  return value as Value & RunMoved;
}

export function isRunMoved(value: unknown): value is RunMoved {
  return typeof value === "object" && value !== null && moved in value;
}
