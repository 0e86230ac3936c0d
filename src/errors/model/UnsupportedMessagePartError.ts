import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** A message contains a part of a type that models do not accept from its role. The request was not sent. */
export class UnsupportedMessagePartError extends AgentPersistenceError {
  override readonly code = "unsupported_message_part";

  constructor(
    readonly role: string,
    /** The `type` of the part. */
    readonly partType: string,
    expected: readonly string[],
  ) {
    super(
      `A message with the role ${quoted(role)} has a part of type ${quoted(partType)}, ` +
        `but models accept only ${expected.join(", ")} from this role. Move the part to a message with another role.`,
    );
  }
}
