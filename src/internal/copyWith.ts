/** Returns a shallow copy of an object, with its prototype and its getters, and with other members. */
export function copyWith<Target extends object>(target: Target, members: object): Target {
  const others = Object.entries(members).map(([key, value]): [string, PropertyDescriptor] => [
    key,
    { value: value as unknown, enumerable: true, configurable: true, writable: true },
  ]);
  const descriptors = { ...Object.getOwnPropertyDescriptors(target), ...Object.fromEntries(others) };
  return Object.create(Object.getPrototypeOf(target) as object | null, descriptors) as Target;
}
