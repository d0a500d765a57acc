/** Rejects as AbortSignal.timeout does. @template T @param {Promise<T>} work @param {number} milliseconds @returns {Promise<T>} */
export function within(work, milliseconds) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new DOMException('no answer', 'TimeoutError')), milliseconds);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
