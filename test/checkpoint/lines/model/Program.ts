/** What an agent does: a body is a list of leaves and forks. A leaf makes calls, asks, and runs sub-agents side by side. */
export type Body = readonly Item[];
export type Item = { readonly leaf: Leaf } | { readonly fork: Readonly<Record<string, Body>>; readonly merge: Leaf };

export interface Leaf {
  readonly name: string;
  readonly calls: number;
  readonly asks: boolean;
  readonly rolls: boolean;
  readonly subs: readonly Body[];
}

export type Random = () => number;

/** Numbers from 0 to 1 that follow from a seed. */
export function randomOf(seed: number): Random {
  let state = (seed * 2_654_435_761) >>> 0;
  return () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 4_294_967_296;
}

/** A short text that differs where values differ. */
export function hash(...values: readonly unknown[]): string {
  let found = 2_166_136_261;
  for (const character of JSON.stringify(values)) found = Math.imul(found ^ character.charCodeAt(0), 16_777_619) >>> 0;
  return found.toString(36);
}

export function randomBody(random: Random, depth: number, name: string): Body {
  return Array.from({ length: 1 + Math.floor(random() * 3) }, (_each, at): Item => {
    const path = `${name}.${at}`;
    if (depth === 0 || random() >= 0.45) return { leaf: randomLeaf(random, depth, path) };
    const keys = ["a", "b", "c"].slice(0, 2 + Math.floor(random() * 2));
    const fork = Object.fromEntries(keys.map((key) => [key, randomBody(random, depth - 1, `${path}/${key}`)]));
    return { fork, merge: randomLeaf(random, 0, `${path}:merge`) };
  });
}

function randomLeaf(random: Random, depth: number, name: string): Leaf {
  const calls = Math.floor(random() * 3);
  const [asks, rolls] = [random() < 0.25, random() < 0.2];
  const count = depth > 0 && random() < 0.35 ? 1 + Math.floor(random() * 2) : 0;
  const subs = Array.from({ length: count }, (_each, at) => randomBody(random, depth - 1, `${name}#${at}`));
  return { name, calls, asks, rolls, subs };
}

/** The output of a body that nothing disturbs. @param ledger gets its effects. */
export function undisturbed(body: Body, input: string, ledger: string[]): string {
  return body.reduce((value, item) => {
    if ("leaf" in item) return undisturbedLeaf(item.leaf, value, ledger);
    const branches = Object.entries(item.fork);
    const outputs = branches.map(([key, branch]) => [key, undisturbed(branch, hash(value, key), ledger)]);
    return undisturbedLeaf(item.merge, hash(outputs), ledger);
  }, input);
}

function undisturbedLeaf({ name, calls, asks, subs }: Leaf, input: string, ledger: string[]): string {
  const got: string[] = [];
  for (let call = 0; call < calls; call++) {
    ledger.push(`${name}!${call}`);
    got.push(hash(name, call, input));
  }
  if (asks) got.push(`yes ${name}`);
  for (const [at, sub] of subs.entries()) got.push(undisturbed(sub, hash(input, at), ledger));
  return hash(name, input, got);
}
