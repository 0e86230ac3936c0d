import { CommandFailure } from "../terminal/CommandFailure.ts";

/** The maximum number of ids in the message about an ambiguous id. */
const mostNamed = 5;

/**
 * Resolves an id or a unique prefix of an id. A prefix may end with `…`, with which tables cut ids.
 *
 * @param kind the kind in messages, such as "agent"
 * @param where the place in messages, such as " in file:agents"
 * @throws CommandFailure if no id or more than one matches
 */
export async function shortened(
  kind: string,
  given: string,
  ids: AsyncIterable<string> | Iterable<string>,
  where = "",
): Promise<string> {
  const meant = new Set<string>();
  const beginning = given.replace(/…$/, "");
  let isAny = false;
  for await (const id of ids) {
    isAny = true;
    if (id === given) return id;
    if (beginning !== "" && id.startsWith(beginning) && meant.size <= mostNamed) meant.add(id);
  }
  const [only, ...others] = meant;
  if (only !== undefined && others.length === 0) return only;
  if (only === undefined)
    throw new CommandFailure(
      "notFound",
      `There is no ${kind} ${JSON.stringify(given)}${where}.${isAny ? "" : ` There is no ${kind} at all.`}`,
    );
  const named = [...meant].slice(0, mostNamed).map((id) => JSON.stringify(id));
  const more = meant.size > mostNamed ? " and more" : "";
  throw new CommandFailure(
    "notFound",
    `${JSON.stringify(given)} is ambiguous. It matches the ${kind} ${named.join(", ")}${more}.`,
  );
}
