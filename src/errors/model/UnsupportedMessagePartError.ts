import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A message holds a part that a model does not take from its role. Nothing was sent. */
export class UnsupportedMessagePartError extends AgentPersistenceError {
  override readonly code = "unsupported_message_part";
  readonly role: string;
  readonly partType: string;

  constructor(role: string, partType: string, expected: readonly string[]) {
    super(
      `A message of role ${JSON.stringify(role)} holds a part of type ${JSON.stringify(partType)}; ` +
        `a model takes ${expected.join(", ")} from it. Move the part to a message of the role it belongs to.`,
    );
    this.role = role;
    this.partType = partType;
  }
}
