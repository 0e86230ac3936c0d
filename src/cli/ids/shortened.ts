import { CommandFailure } from "../failure/CommandFailure.ts";

/** So many are named when an id is ambiguous. */
const mostNamed = 5;

/**
 * The one id that was meant: itself, or the only one that begins with it. A table ends an id that it cuts with `…`, which
 * counts as such a beginning.
 *
 * @param kind what a message calls it, such as "agent".
 * @throws CommandFailure when none or several are.
 */
export async function shortened(
  kind: string,
  given: string,
  ids: AsyncIterable<string> | Iterable<string>,
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
      `There is no ${kind} ${JSON.stringify(given)}.${isAny ? "" : ` There is no ${kind} at all.`}`,
    );
  const named = [...meant].slice(0, mostNamed).map((id) => JSON.stringify(id));
  const more = meant.size > mostNamed ? " and more" : "";
  throw new CommandFailure("notFound", `${JSON.stringify(given)} may be the ${kind} ${named.join(", ")}${more}.`);
}
