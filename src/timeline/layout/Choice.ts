/** The steps that are chosen, by their keys. */
export interface Choice {
  readonly chosen?: string | undefined;
  /** The step to compare with. */
  readonly other?: string | undefined;
  /** The next step that is chosen is the second. */
  readonly comparing?: boolean;
  /** The details cover the list where there is no room for both. */
  readonly open?: boolean;
}

/** The part of an address that leads to a choice. */
export function linkTo({ chosen, other }: Choice): string {
  if (chosen === undefined) return "";
  const keys = other === undefined ? [chosen] : [chosen, other];
  return `#${keys.map((key) => encodeURIComponent(key).replaceAll("%20", "+")).join(",")}`;
}

/** The choice that an address leads to. */
export function choiceIn(hash: string): Choice {
  try {
    const [chosen, other] = hash
      .slice(1)
      .split(",")
      .map((key) => decodeURIComponent(key.replaceAll("+", "%20")));
    return chosen === undefined || chosen === "" ? {} : { chosen, other, open: true };
  } catch {
    return {};
  }
}
