print("carriageway")
