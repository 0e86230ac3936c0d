type IsOptional<Value> = unknown extends Value ? false : undefined extends Value ? true : false;

/** Fields that may be `undefined` become optional; a field of type `unknown` stays. */
export type WithoutUndefined<Fields> = {
  [Key in keyof Fields as IsOptional<Fields[Key]> extends true ? never : Key]: Fields[Key];
} & {
  [Key in keyof Fields as IsOptional<Fields[Key]> extends true ? Key : never]?: Exclude<Fields[Key], undefined>;
};

/** A copy without the fields that are `undefined`, in the same order: optional fields are stored only when present. */
export function withoutUndefined<const Fields extends object>(fields: Fields): WithoutUndefined<Fields> {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present) as WithoutUndefined<Fields>;
}
