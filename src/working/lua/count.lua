-- How many slots there are.
prune()
return finish('ok', count)
