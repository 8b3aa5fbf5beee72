# The field of Jacobi3D in ParaView: a slice through the middle, surfaces of equal value, and the box, coloured alike. Tried with
# ParaView 5.11; written for 5.10 and newer.
#
#   paraview --script=field.py          opens field.vti beside this file
#   pvpython field.py [FILE] [PNG]      the same as a picture; without a display: xvfb-run pvpython field.py ...
import os
import sys

from paraview.simple import (CellDatatoPointData, ColorBy, Contour, GetActiveViewOrCreate, OpenDataFile, Render, ResetCamera,
                             SaveScreenshot, Show, Slice,
                             UpdatePipeline)

here = os.path.dirname(os.path.abspath(__file__)) if "__file__" in globals() else os.getcwd()
words = [w for w in sys.argv[1:] if not w.startswith("-")]
path = words[0] if words else os.path.join(here, "field.vti")

field = OpenDataFile(path)
UpdatePipeline()
cells = field.CellData.GetNumberOfArrays() > 0
place = "CELLS" if cells else "POINTS"
array = (field.CellData if cells else field.PointData).GetArray(0)
low, high = array.GetRange()
x0, x1, y0, y1, z0, z1 = field.GetDataInformation().GetBounds()

view = GetActiveViewOrCreate("RenderView")
box = Show(field, view)
box.SetRepresentationType("Outline")

middle = Slice(Input=field)
middle.SliceType.Origin = [(x0 + x1) / 2, (y0 + y1) / 2, (z0 + z1) / 2]
middle.SliceType.Normal = [0, 1, 0]
shown = Show(middle, view)
ColorBy(shown, (place, array.GetName()))
shown.RescaleTransferFunctionToDataRange(True)
shown.SetScalarBarVisibility(view, True)

points = CellDatatoPointData(Input=field) if cells else field  # surfaces are of values at points
surfaces = Contour(Input=points, ContourBy=["POINTS", array.GetName()], Isosurfaces=[low + (high - low) * k / 4 for k in (1, 2, 3)])
seen = Show(surfaces, view)
ColorBy(seen, ("POINTS", array.GetName()))
seen.Opacity = 0.4

view.CameraViewUp = [0, 0, 1]
view.CameraFocalPoint = [(x0 + x1) / 2, (y0 + y1) / 2, (z0 + z1) / 2]
view.CameraPosition = [x0 - 2 * (x1 - x0), y0 - 4 * (y1 - y0), z1 + 2 * (z1 - z0)]
ResetCamera(view)
Render(view)
if len(words) > 1:
    SaveScreenshot(words[1], view, ImageResolution=[1200, 900])
