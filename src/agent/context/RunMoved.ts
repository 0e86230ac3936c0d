const moved: unique symbol = Symbol.for("agent-persistence.moved");

/** The result of a move. A node may return it; its output type does not change. */
export interface RunMoved {
  readonly [moved]: true;
}

/** Marks a value as the result of a move. The mark is not enumerable: comparing or printing the value does not show it. */
export function runMoved<Value extends object>(value: Value): Value & RunMoved {
  Object.defineProperty(value, moved, { value: true });
  return value as Value & RunMoved;
}

/** Whether {@link runMoved} marked this value. */
export function isRunMoved(value: unknown): value is RunMoved {
  return typeof value === "object" && value !== null && moved in value;
}
